from __future__ import annotations

import numpy as np
import pytest

from mead.arrays import FloatArray
from mead.policies.predictive.replay_network import Draws, WindowReplay
from mead.queueing import DEFAULT_SEQUENCES, Edge, ReplayResponse, ResponseTime, Unstable
from mead.simulator import Simulation
from mead.values import Allocation, Batches, Operator, Pipeline, Resources
from mead.workload import Trace


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
    "filter behind a merge": Pipeline(
        "merge-filter",
        [Operator(name, 0.0005) for name in "abcd"] + [Operator("e", 0.002, max_replicas=2), Operator("f", 0.001)],
        [Edge("a", "b"), Edge("a", "c", 0.7), Edge("b", "d"), Edge("c", "d"), Edge("d", "e", 0.5), Edge("e", "f", 1.2)],
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


def test_a_tuple_goes_the_same_way_at_any_speed(bursty: FloatArray) -> None:
    pipeline = PIPELINES["filter behind a merge"]
    window = WindowReplay(bursty[:2_001], Draws(0))
    taken = []
    for share in (0.55, 1.0):
        network = window.solution(pipeline, pipeline.most.with_("b", Resources(share)))
        for path in pipeline.paths:
            response = network.paths[path]
            assert isinstance(response, ReplayResponse)
            taken.append(response.response_s.shape)
    assert taken[:2] == taken[2:]
    assert all(rows == DEFAULT_SEQUENCES for rows, _ in taken)


def test_where_no_tuple_of_the_window_came_by_the_service_is_what_is_left(bursty: FloatArray) -> None:
    pipeline = Pipeline(
        "rare", [Operator("a", 0.001), Operator("b", 0.01), Operator("c", 0.02)], [Edge("a", "b", 1e-9), Edge("b", "c")]
    )
    assert replayed(pipeline, pipeline.most, bursty[:300], "a>b>c").mean_s == pytest.approx(0.031)
    alone = WindowReplay(bursty[:300], Draws(0)).solution(pipeline, pipeline.most).operators["c"]
    assert isinstance(alone, ReplayResponse)
    assert alone.mean_s == pytest.approx(0.02)
