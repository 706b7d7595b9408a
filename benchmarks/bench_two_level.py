"""Measure two levels of adaptation for slow policies, on the log analysis in virtual time.

    benchmarks/bench_two_level.py [--duration S] [--seeds N]

The matcher of the log analysis may have up to four tasks of up to 0.7 cores each, under arrivals with an index of
dispersion of 200, in micro-batches of 0.1 s overhead and one at a time. Every policy decides every minute, alone and
with splitting between its decisions. ``hybrid`` stands beside them: it decides on both knobs every second by itself.
Printed: the mean and p95 of the response time, whether the requirement was met, the cores that were given and how
often the allocation changed, as means over the seeds.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from experiments.comparison import PolicyContender
from rich.console import Console
from rich.progress import track

from mead.queueing import Edge
from mead.reports.judge import Outcome
from mead.simulator import run
from mead.values import Batches, Operator, Pipeline, Requirement
from mead.workload import Markovian

if TYPE_CHECKING:
    from benchmarks.common import table
else:  # run as a script, whose folder is where its imports come from
    from common import table

RATE_PER_S, IDC = 330.0, 200.0
SHARES = (0.4, 0.55, 0.7)
PATH = "parser>matcher"
SLOW = ("static@share=0.7@replicas=1", "threshold@interval_s=60", "mg1", "map", "replay", "pasps@interval_s=60")
FIGURES = (("mean_s", 3), ("p95_s", 3), ("cores", 2), ("changes", 0))
console = Console(width=150)


def pipeline(batches: Batches | None, bound_s: float) -> Pipeline:
    """The log analysis, whose matcher needs more than one replica in bursts."""
    light = [Operator(name, 0.0001, shares=(0.4,), batches=batches) for name in ("parser", "counter")]
    matcher = Operator("matcher", 0.0015, shares=SHARES, max_replicas=4, batches=batches)
    edges = [Edge("parser", "counter"), Edge("parser", "matcher")]
    return Pipeline("log-analysis", [*light, matcher], edges, [Requirement(PATH, bound_s)])


@dataclass(frozen=True)
class Figures:
    """The figures of one run."""

    mean_s: float
    p95_s: float
    met: bool
    cores: float
    changes: int


def figures(this: Pipeline, label: str, seed: int, duration_s: float) -> Figures:
    """What a policy makes of one stream of arrivals."""
    options = PolicyContender.of(label).options
    trace = Markovian(rate_per_s=RATE_PER_S, idc=IDC, duration_s=duration_s).generate(np.random.default_rng(seed))
    done = run(this, trace, options, seed=seed)
    response_s, outcome = done.simulation.responses(PATH).response_s, Outcome.of(done)
    cores = outcome.cpu * len(this.operators)
    return Figures(float(response_s.mean()), float(np.percentile(response_s, 95)), outcome.met, cores, outcome.changes)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duration", type=float, default=600.0, metavar="S")
    parser.add_argument("--seeds", type=int, default=3, metavar="N")
    arguments = parser.parse_args()
    kinds = {"one at a time": pipeline(None, 0.5), "micro-batches": pipeline(Batches(overhead_s=0.1), 1.0)}
    labels = [label for slow in SLOW for label in (slow, f"{slow}@two_level=true")]
    result = table(
        "Log analysis, required: a mean of 0.5 s one at a time, of 1 s in micro-batches",
        "operators",
        "policy",
        "mean s",
        "p95 s",
        "met",
        "cores",
        "changes",
    )
    for kind, label in track(
        [(kind, label) for kind in kinds for label in (*labels, "hybrid")], "simulating", console=console
    ):
        runs = [figures(kinds[kind], label, seed, arguments.duration) for seed in range(1, arguments.seeds + 1)]
        means = [f"{np.mean([getattr(r, name) for r in runs]):.{digits}f}" for name, digits in FIGURES]
        met = f"{sum(r.met for r in runs)} of {len(runs)}"
        result.add_row(kind, label, *means[:2], met, *means[2:])
    console.print(result)


if __name__ == "__main__":
    main()
