"""Compare the MEAD paper's heuristic with exact search: optimality, CPU and cost.

    benchmarks/bench_policies_search.py [--pipelines N]

Random pipelines of two to four operators (a chain, a fork, or a tree), Erlang-2 service, the paper's five levels, one
or two replicas, a bound of the mean on every path that the highest levels meet with some room; response times by M/G/1
and M/G/k, so that there can be many. The heuristic loses if it gives up a path that can be met, or if what it finds
costs more than the cheapest.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import track

from mead.policies.predictive.mg1 import MG1, MG1Options
from mead.policies.predictive.predictions import meets, memoize, response_s, worst_solution
from mead.policies.predictive.search import Predictor, exact_search, heuristic_search
from mead.queueing import Edge, NetworkSolution, Unstable
from mead.values import Allocation, Operator, Pipeline, Requirement

if TYPE_CHECKING:
    from benchmarks.common import table
else:  # run as a script, whose folder is where its imports come from
    from common import table

RATE_PER_S = 330.0
console = Console(width=150)


class Counted:
    """A predictor of one pipeline that counts how many allocations it has solved."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.solved = 0
        policy = MG1(MG1Options())

        def solve(allocation: Allocation) -> NetworkSolution:
            self.solved += 1
            return worst_solution(policy.predict(pipeline, allocation, [RATE_PER_S]))

        self.predict: Predictor = memoize(solve)


def random_pipeline(rng: np.random.Generator, replicas: int) -> Pipeline | None:
    """A pipeline with requirements that its highest levels meet, or None if these are overloaded."""
    names = "abcd"[: rng.integers(2, 5)]
    operators = [
        Operator(name, float(rng.uniform(0.2, 0.85)) / RATE_PER_S, max_replicas=int(rng.integers(1, replicas + 1)))
        for name in names
    ]
    edges = [Edge(names[rng.integers(max(0, i - 1), i)], names[i]) for i in range(1, len(names))]
    plain = Pipeline("random", operators, edges)
    best = Counted(plain).predict(plain.most)
    requirements = []
    for path in plain.paths:
        if isinstance(best.paths[path], Unstable):
            return None
        bound_s = response_s(best.paths[path]) * float(rng.uniform(1.05, 4.0))
        requirements.append(Requirement(path, bound_s))
    return Pipeline("random", operators, edges, requirements)


def pipelines(count: int, replicas: int) -> Iterator[Pipeline]:
    """This many random pipelines, always the same ones."""
    rng = np.random.default_rng(replicas)
    made = 0
    while made < count:
        pipeline = random_pipeline(rng, replicas)
        if pipeline is not None:
            made += 1
            yield pipeline


def main() -> None:
    """Print one row per number of replicas."""
    parser = argparse.ArgumentParser(description="How often the heuristic loses to exact search.")
    parser.add_argument("--pipelines", type=int, default=60, help="random pipelines per row")
    count = parser.parse_args().pipelines
    result = table(
        f"Fig. 5 against exact search, {count} random pipelines each",
        "replicas up to",
        "gives up a path that can be met",
        "meets all, but dearer",
        "dearer by, mean",
        "p95",
        "most",
        "solved: heuristic",
        "exact",
        "CPU ms: heuristic",
        "exact",
    )
    for replicas in (1, 2):
        gave_up, dearer, solved, seconds = 0, [], [], []
        for pipeline in track(pipelines(count, replicas), "pipelines", count, transient=True):
            quick, slow = Counted(pipeline), Counted(pipeline)
            started = time.process_time()
            found = heuristic_search(pipeline, quick.predict)
            between = time.process_time()
            cheapest = exact_search(pipeline, slow.predict)
            seconds.append((between - started, time.process_time() - between))
            solved.append((quick.solved, slow.solved))
            if not all(meets(quick.predict(found), r) for r in pipeline.requirements):
                gave_up += 1
            elif found.cores > cheapest.cores + 1e-9:
                dearer.append(found.cores / cheapest.cores - 1)
        extra = np.array(dearer) if dearer else np.zeros(1)
        result.add_row(
            str(replicas),
            f"{gave_up / count:.1%}",
            f"{len(dearer) / count:.1%}",
            f"{extra.mean():.1%}",
            f"{np.percentile(extra, 95):.1%}",
            f"{extra.max():.1%}",
            *(f"{value:.0f}" for value in np.mean(solved, axis=0)),
            *(f"{1000 * value:.0f}" for value in np.mean(seconds, axis=0)),
        )
    console.print(result)


if __name__ == "__main__":
    main()
