from __future__ import annotations

import numpy as np
import pytest

from mead.knowledge.allocation import Allocation, Resources
from mead.knowledge.pipeline import Batches, Operator, Pipeline
from mead.models.arrays import FloatArray
from mead.models.network.graph import Edge
from mead.models.queues.response import ResponseTime, Unstable
from mead.plan.replayed import Draws, WindowReplay
from mead.simulate.simulation import Simulation
from mead.workload.trace import Trace


def simulated_s(pipeline: Pipeline, allocation: Allocation, iats_s: FloatArray, path: str, *, seeds: int = 8) -> float:
    means = []
    for seed in range(seeds):
        simulation = Simulation(pipeline, Trace.from_iats_s(iats_s), seed, allocation=allocation)
        simulation.drain()
        means.append(float(simulation.responses(path).response_s.mean()))
    return float(np.mean(means))


def replayed(pipeline: Pipeline, allocation: Allocation, iats_s: FloatArray, path: str) -> ResponseTime:
    solution = WindowReplay(iats_s, Draws(0)).solution(pipeline, allocation).paths[path]
    assert not isinstance(solution, Unstable)
    return solution


PIPELINES = {
    "tandem": Pipeline("tandem", [Operator("a", 0.0015), Operator("b", 0.0015)], [Edge("a", "b")]),
    "filter and flat map": Pipeline(
        "uneven",
        [Operator("a", 0.001), Operator("b", 0.001), Operator("c", 0.0005)],
        [Edge("a", "b", 0.6), Edge("b", "c", 2.5)],
    ),
    "diamond": Pipeline(
        "diamond",
        [Operator("a", 0.0005), Operator("b", 0.001), Operator("c", 0.0002), Operator("d", 0.0006)],
        [Edge("a", "b"), Edge("a", "c"), Edge("b", "d"), Edge("c", "d", 0.5)],
    ),
    "replicas": Pipeline("replicas", [Operator("a", 0.004, max_replicas=3), Operator("b", 0.001)], [Edge("a", "b")]),
    "micro-batches": Pipeline(
        "batches",
        [Operator("a", 0.001, batches=Batches(0.05)), Operator("b", 0.001, batches=Batches(0.1, max_tuples=500))],
        [Edge("a", "b")],
    ),
    "batches before single tuples": Pipeline(
        "mixed", [Operator("a", 0.001, batches=Batches(0.05)), Operator("b", 0.0015)], [Edge("a", "b")]
    ),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_a_replay_has_the_response_times_of_a_simulation(name: str, bursty: FloatArray) -> None:
    pipeline = PIPELINES[name]
    for path in pipeline.paths:
        predicted = replayed(pipeline, pipeline.most, bursty, path)
        assert predicted.mean_s == pytest.approx(simulated_s(pipeline, pipeline.most, bursty, path), rel=0.06)


def test_overload_has_no_response_time(bursty: FloatArray) -> None:
    pipeline = PIPELINES["tandem"]
    slow = Allocation.of(a=Resources(0.4), b=Resources(1.0))
    solution = WindowReplay(bursty, Draws(0)).solution(pipeline, slow)
    assert isinstance(solution.operators["a"], Unstable)
    assert isinstance(solution.paths["a>b"], Unstable)
    assert solution.paths["a>b"].utilization > 1


def test_operators_before_a_change_are_not_replayed_again(bursty: FloatArray) -> None:
    window = WindowReplay(bursty, Draws(0))
    pipeline = PIPELINES["tandem"]
    for share in (0.7, 0.85, 1.0):
        window.solution(pipeline, pipeline.most.with_("b", Resources(share))).paths["a>b"].utilization  # noqa: B018
    replayed_of = [key[1] for key in window._served]
    assert (replayed_of.count("a"), replayed_of.count("b")) == (1, 3)
