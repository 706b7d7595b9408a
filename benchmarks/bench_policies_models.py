"""Compare predictions of policy ``map`` with simulation where its models approximate the pipeline.

    benchmarks/bench_policies_models.py [--tuples N]

Loops (visits taken as one), replicas (one server of their joint speed) and micro-batches in a row (each under the
arrivals of the source), at three utilizations of the busiest operator, under Poisson arrivals and two-state MAPs of an
index of dispersion of 20 and 50. The MAP is given, so that nothing but the approximation is measured. Positive:
predicted too long, which costs CPU; negative: too short, which can break a requirement. A simulation is noisy by some
4 % at the highest utilization and index of dispersion.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import track

from mead.policies.predictive.map_network import ArrivalModel, solve_pipeline
from mead.queueing import MAP, Edge, Unstable
from mead.simulator import Simulation
from mead.values import Batches, Operator, Pipeline
from mead.workload import Trace

if TYPE_CHECKING:
    from benchmarks.common import table
else:  # run as a script, whose folder is where its imports come from
    from common import table

FULL = (1.0,)
RATE_PER_S = 100.0
UTILIZATIONS = (0.5, 0.7, 0.85)
ARRIVALS = {
    "Poisson": MAP.poisson(RATE_PER_S),
    "IDC 20": MAP.two_state(RATE_PER_S, 20.0),
    "IDC 50": MAP.two_state(RATE_PER_S, 50.0),
}
console = Console(width=150)


def pipelines(utilization: float) -> dict[str, Pipeline]:
    """Each kind of pipeline with its busiest operator at that utilization."""
    work_s = utilization / RATE_PER_S
    batches = Batches(overhead_s=0.2)
    return {
        "loop of one, 30 % return": Pipeline(
            "one",
            [Operator("a", work_s * 0.7, shares=FULL), Operator("b", work_s * 0.5, shares=FULL)],
            [Edge("a", "a", 0.3), Edge("a", "b", 0.7)],
        ),
        "loop of two, 30 % return": Pipeline(
            "two",
            [Operator(n, work_s * 0.7 * part, shares=FULL) for n, part in (("a", 0.5), ("b", 1.0), ("c", 0.5))],
            [Edge("a", "b"), Edge("b", "a", 0.3), Edge("b", "c", 0.7)],
        ),
        "2 replicas": _replicas(2, work_s),
        "8 replicas": _replicas(8, work_s),
        "2 micro-batches, equal": Pipeline(
            "batches", [Operator(n, work_s, shares=FULL, batches=batches) for n in "ab"], [Edge("a", "b")]
        ),
        "2 micro-batches, second half": Pipeline(
            "batches",
            [Operator(n, work_s * part, shares=FULL, batches=batches) for n, part in (("a", 1.0), ("b", 0.5))],
            [Edge("a", "b")],
        ),
    }


def _replicas(count: int, work_s: float) -> Pipeline:
    return Pipeline("replicas", [Operator("a", work_s * count, shares=FULL, max_replicas=count)])


def errors(pipeline: Pipeline, arrivals: MAP, tuples: int) -> str:
    """Error of the mean and of the p95 on the longest path, in per cent."""
    path = max(pipeline.paths, key=len)
    trace = Trace.from_iats_s(arrivals.sample(tuples, np.random.default_rng(1)))
    simulation = Simulation(pipeline, trace, seed=1)
    simulation.drain()
    simulated_s = simulation.responses(path).response_s
    predicted = solve_pipeline(pipeline, pipeline.most, [ArrivalModel(arrivals)], "map")[0].paths[path]
    if isinstance(predicted, Unstable):
        return "overloaded"
    mean = predicted.mean_s / float(simulated_s.mean()) - 1
    p95 = predicted.percentile_s(95) / float(np.percentile(simulated_s, 95)) - 1
    return f"{mean:+.0%} / {p95:+.0%}"


def main() -> None:
    """Print one row per kind of pipeline and arrivals."""
    parser = argparse.ArgumentParser(description="Errors of the approximations of policy map.")
    parser.add_argument("--tuples", type=int, default=2_000_000, help="tuples per simulation")
    tuples = parser.parse_args().tuples
    columns = [f"utilization {u:g}" for u in UTILIZATIONS]
    result = table(f"Predicted against simulated, mean / p95, {tuples:,} tuples each", "pipeline", "arrivals", *columns)
    rows = [(kind, name) for kind in pipelines(0.5) for name in ARRIVALS]
    for kind, name in track(rows, "pipelines", transient=True):
        result.add_row(kind, name, *(errors(pipelines(u)[kind], ARRIVALS[name], tuples) for u in UTILIZATIONS))
    console.print(result)


if __name__ == "__main__":
    main()
