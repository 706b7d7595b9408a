from __future__ import annotations

import numpy as np
import pytest

from mead.policies.predictive.map_network import ArrivalModel, solve_pipeline
from mead.queueing import (
    MAP,
    BatchServer,
    Edge,
    InvalidNetworkError,
    QueueSolution,
    ResponseTime,
    Unstable,
    micro_batch,
    solve_network,
)
from mead.queueing.queues.mmk import mmk
from mead.simulator import Simulation
from mead.values import Allocation, Batches, Operator, Pipeline, Resources
from mead.workload import Trace

BURSTY = MAP.two_state(rate_per_s=330.0, idc=50.0)


def stable(solution: QueueSolution) -> ResponseTime:
    assert not isinstance(solution, Unstable)
    return solution


def test_single_servers_are_solved_as_a_network() -> None:
    pipeline = Pipeline("two", [Operator("a", 0.0015), Operator("b", 0.001)], [Edge("a", "b", 0.5)])
    found = stable(solve_pipeline(pipeline, pipeline.most, [ArrivalModel(BURSTY)], "map")[0].paths["a>b"])
    expected = stable(solve_network(pipeline.network(pipeline.most), BURSTY).paths["a>b"])
    assert found.mean_s == pytest.approx(expected.mean_s)
    assert found.percentile_s(95) == pytest.approx(expected.percentile_s(95))


def test_replicas_are_never_predicted_faster_than_they_are() -> None:
    pipeline = Pipeline("one", [Operator("a", 0.008, scv=1.0, max_replicas=4)])
    four = Allocation.of(a=Resources(1.0, 4))
    exact = stable(mmk(330.0, 0.008, 4))
    found = stable(solve_pipeline(pipeline, four, [ArrivalModel(MAP.poisson(330.0))], "map")[0].operators["a"])
    assert found.utilization == pytest.approx(exact.utilization)
    assert exact.mean_s <= found.mean_s <= 1.3 * exact.mean_s
    assert found.percentile_s(95) == pytest.approx(exact.percentile_s(95), rel=0.2)


def test_a_micro_batch_operator_is_the_batch_server() -> None:
    pipeline = Pipeline("one", [Operator("a", 0.0015, batches=Batches(0.1))])
    share = Allocation.of(a=Resources(0.7))
    found = stable(solve_pipeline(pipeline, share, [ArrivalModel(BURSTY)], "map")[0].paths["a"])
    expected = stable(micro_batch(BURSTY, BatchServer(0.1, 0.0015, share=0.7)))
    assert found.mean_s == pytest.approx(expected.mean_s)
    assert found.percentile_s(95) == pytest.approx(expected.percentile_s(95))


def test_micro_batches_in_a_row_are_near_their_simulation() -> None:
    batches = Batches(0.05)
    pipeline = Pipeline(
        "two", [Operator("a", 0.001, batches=batches), Operator("b", 0.0015, batches=batches)], [Edge("a", "b")]
    )
    trace = Trace.from_iats_s(BURSTY.sample(150_000, np.random.default_rng(5)))
    simulation = Simulation(pipeline, trace, seed=1)
    simulation.drain()
    simulated = simulation.responses("a>b").response_s
    found = stable(solve_pipeline(pipeline, pipeline.most, [ArrivalModel(BURSTY)], "map")[0].paths["a>b"])
    assert found.mean_s == pytest.approx(simulated.mean(), rel=0.25)
    assert found.percentile_s(95) == pytest.approx(np.percentile(simulated, 95), rel=0.3)


def test_single_tuples_behind_micro_batches_are_refused_by_name() -> None:
    pipeline = Pipeline("mixed", [Operator("a", 0.001, batches=Batches(0.05)), Operator("b", 0.0015)], [Edge("a", "b")])
    with pytest.raises(InvalidNetworkError, match="policy kingman has no model of operator 'b'"):
        solve_pipeline(pipeline, pipeline.most, [ArrivalModel(BURSTY)], "kingman")
