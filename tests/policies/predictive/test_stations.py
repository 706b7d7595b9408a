from __future__ import annotations

import numpy as np
import pytest

from mead.policies.predictive.stations import stations
from mead.queueing import MAP, Edge, solve_network
from mead.simulator import Simulation
from mead.values import Allocation, Operator, Pipeline, Resources
from mead.workload import Trace

LOOP = Pipeline(
    "loop",
    [Operator("spout", 0.001), Operator("detect", 0.002), Operator("report", 0.001)],
    [Edge("spout", "detect"), Edge("detect", "detect", 0.3), Edge("detect", "report", 0.7)],
)


def test_without_loops_and_replicas_it_is_the_plain_network() -> None:
    pipeline = Pipeline("two", [Operator("a", 0.001), Operator("b", 0.002)], [Edge("a", "b", 0.5)])
    allocation = Allocation.of(a=Resources(0.4), b=Resources(0.7))
    assert stations(pipeline, allocation).edges == pipeline.network(allocation).edges
    for name in "ab":
        plain = pipeline.network(allocation).operator(name)
        assert stations(pipeline, allocation).operator(name).service.mean_s == plain.service.mean_s


def test_utilizations_count_the_tuples_that_come_back() -> None:
    allocation = Allocation.of({name: Resources(0.7) for name in ("spout", "detect", "report")})
    solution = solve_network(stations(LOOP, allocation), MAP.poisson(100.0))
    for operator in LOOP.operators:
        load = 100.0 * LOOP.visits[operator.name] * operator.demand_s / 0.7
        assert solution.operators[operator.name].utilization == pytest.approx(load)


def test_the_mean_response_of_a_light_loop_is_that_of_a_simulation() -> None:
    allocation = LOOP.most
    trace = Trace.from_iats_s(MAP.poisson(60.0).sample(40_000, np.random.default_rng(3)))
    simulation = Simulation(LOOP, trace, seed=1, allocation=allocation)
    simulation.drain()
    simulated_s = float(simulation.responses("spout>detect>report").response_s.mean())
    predicted = solve_network(stations(LOOP, allocation), MAP.poisson(60.0)).paths["spout>detect>report"]
    assert getattr(predicted, "mean_s", None) == pytest.approx(simulated_s, rel=0.1)


def test_replicas_are_one_server_of_their_joint_speed() -> None:
    pipeline = Pipeline("one", [Operator("a", 0.002, max_replicas=4)])
    network = stations(pipeline, Allocation.of(a=Resources(0.5, 4)), joint=True)
    assert network.operator("a").servers == 1
    assert network.operator("a").service.mean_s == pytest.approx(0.001)
