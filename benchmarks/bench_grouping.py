"""Measure load-aware grouping: unequal replicas with a queue each, in virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np
from rich.console import Console

from mead.config import GroupingKind
from mead.simulator import Conditions, Grouping, Simulation
from mead.values import Operator, Pipeline
from mead.workload import Poisson

if TYPE_CHECKING:
    from benchmarks.common import table
else:  # run as a script, whose folder is where its imports come from
    from common import table

DEMAND_S, DURATION_S = 0.002, 600.0
SPEEDS = {"equal": (1.0, 1.0, 1.0, 1.0), "two of half the speed": (1.0, 1.0, 0.5, 0.5)}
LOADS = (0.3, 0.5, 0.7, 0.85)


def main() -> None:
    """Mean and 95th percentile of the response time, by load and grouping."""
    pipeline = Pipeline("pool", [Operator("worker", DEMAND_S, 1.0, (1.0,), max_replicas=4)])
    for title, speeds in SPEEDS.items():
        shown = table(
            f"four replicas, {title}: mean (p95) in ms", "grouping, loads measured", *(f"load {n}" for n in LOADS)
        )
        for kind in get_args(GroupingKind):
            measured = kind in {"least_utilised", "weighted_random"}
            for interval_s in (1.0, 30.0) if measured else (1.0,):
                cells = []
                for load in LOADS:
                    arrivals = Poisson(rate_per_s=load * sum(speeds) / DEMAND_S, duration_s=DURATION_S)
                    conditions = Conditions(groupings={"worker": Grouping(kind, speeds, interval_s)})
                    simulation = Simulation(
                        pipeline, arrivals.generate(np.random.default_rng(1)), 1, conditions=conditions
                    )
                    simulation.drain()
                    ms = 1000 * simulation.responses("worker").response_s
                    cells.append(f"{ms.mean():,.1f} ({np.percentile(ms, 95):,.0f})")
                every = f", every {interval_s:g} s" if measured else ""
                shown.add_row(f"{kind}{every}", *cells)
        Console().print(shown)


if __name__ == "__main__":
    main()
