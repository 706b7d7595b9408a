"""Replicas with a queue each: who gets a tuple, what becomes of those that are no longer wanted, and what it brings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit
from tests.paths import vectors

from mead.config import GroupingKind
from mead.policies import Restart
from mead.simulator import Conditions, Grouping, Simulation
from mead.simulator.kernel import least_utilised
from mead.simulator.records import GROUP, OPERATOR
from mead.values import Allocation, Batches, Operator, Pipeline, Resources
from mead.workload import Poisson, Trace

VECTORS = vectors("pasps.json")["grouping"]


@njit
def picked(groups, operators, events, picks):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for event in range(events):
        picks[event] = least_utilised(groups[0], operators, 0, operators.size)


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["id"])
def test_the_least_utilised_replica_gets_the_tuple(case: dict[str, Any]) -> None:
    groups, operators = np.zeros(1, GROUP), np.zeros(len(case["U0"]), OPERATOR)
    operators["load"], operators["step"] = case["U0"], case["et_over_td"]
    picks = np.zeros(case["events"], dtype=np.int64)
    picked(groups, operators, case["events"], picks)
    assert picks.tolist() == case["expected"]["picks"]
    assert operators["load"] == pytest.approx(case["expected"]["U"], abs=1e-6)


def pool(replicas: int = 4, demand_s: float = 0.002, scv: float = 1.0) -> Pipeline:
    return Pipeline("pool", [Operator("worker", demand_s, scv, (1.0,), max_replicas=replicas)])


def under(kind: GroupingKind, speeds: tuple[float, ...] = (), interval_s: float = 1.0) -> Conditions:
    return Conditions(groupings={"worker": Grouping(kind, speeds, interval_s)})


def mean_s(kind: GroupingKind, load: float, speeds: tuple[float, ...] = (1.0, 1.0, 0.5, 0.5)) -> float:
    arrivals = Poisson(rate_per_s=load * sum(speeds) / 0.002, duration_s=60.0).generate(np.random.default_rng(1))
    simulation = Simulation(pool(), arrivals, 1, conditions=under(kind, speeds))
    simulation.drain()
    return float(simulation.responses("worker").response_s.mean())


def test_a_shuffle_over_equal_replicas_is_as_many_queues_of_one_server() -> None:
    """Poisson arrivals split at random stay Poisson: M/M/1 each, with mean response 1 / (1/D - rate)."""
    arrivals = Poisson(rate_per_s=1000.0, duration_s=600.0).generate(np.random.default_rng(2))
    simulation = Simulation(pool(), arrivals, 2, conditions=under("shuffle"))
    simulation.drain()
    response_s = simulation.responses("worker").response_s
    assert response_s.mean() == pytest.approx(1 / (500 - 250), rel=0.03)
    assert np.percentile(response_s, 95) == pytest.approx(-np.log(0.05) / (500 - 250), rel=0.03)


def test_storms_shuffle_gives_every_replica_its_turn() -> None:
    """At a fixed interval, each of three replicas gets every third tuple: D/D/1 with load 1/3 never waits."""
    trace = Trace.from_timestamps_s(np.arange(9) * 1.0)
    simulation = Simulation(pool(3, demand_s=2.5, scv=0.0), trace, 1, conditions=under("round_robin"))
    simulation.drain()
    assert simulation.responses("worker").response_s.tolist() == [2.5] * 9
    assert simulation._machine.operators["completed"][1:4].tolist() == [3, 3, 3]


def test_a_shuffle_overloads_slow_replicas_and_load_aware_groupings_do_not() -> None:
    """At 0.7 of the whole, a quarter of the tuples is 1.05 of what a replica of half the speed can do."""
    shuffled, weighted, least = (mean_s(kind, 0.7) for kind in ("shuffle", "weighted_random", "least_utilised"))
    assert least < weighted < shuffled
    assert least < 0.25 * shuffled


def test_at_low_load_a_shuffle_is_the_better_one() -> None:
    """Loads are measured once a second: until then all tuples go to whoever was idle."""
    assert mean_s("shuffle", 0.3) < mean_s("least_utilised", 0.3)


def test_a_replica_that_is_deactivated_serves_what_it_has_and_gets_no_more() -> None:
    trace = Trace.from_timestamps_s(np.arange(8) * 0.001)
    simulation = Simulation(
        pool(2, demand_s=1.0, scv=0.0), trace, 1, conditions=under("least_utilised", interval_s=60.0)
    )
    simulation.advance(0.0035)
    simulation.apply(Allocation.of(worker=Resources(1.0, 1)))
    assert simulation.in_force["worker"].replicas == 1  # at once
    simulation.drain()
    # two of the first four each; the last four all go to the first
    assert simulation._machine.operators["completed"][1:3].tolist() == [6, 2]
    assert simulation.responses("worker").response_s[-1] == pytest.approx(6.0 - 0.007)


def test_an_added_replica_gets_tuples_at_once() -> None:
    trace = Trace.from_timestamps_s(np.arange(4) * 0.1)
    start = Allocation.of(worker=Resources(1.0, 1))
    conditions = under("least_utilised", interval_s=60.0)
    simulation = Simulation(pool(2, demand_s=1.0, scv=0.0), trace, 1, allocation=start, conditions=conditions)
    simulation.advance(0.15)
    simulation.apply(Allocation.of(worker=Resources(1.0, 2)))
    simulation.drain()
    assert simulation._machine.operators["completed"][1:3].tolist() == [2, 2]


def test_more_replicas_than_the_pool_has_are_refused() -> None:
    simulation = Simulation(pool(2), Trace.from_timestamps_s([0.0, 1.0]), 1, conditions=under("shuffle"))
    with pytest.raises(ValueError, match="the pool has 2 replicas with a queue each; got 3"):
        simulation.apply(Allocation.of(worker=Resources(1.0, 3)))


@pytest.mark.parametrize(
    ("conditions", "complaint"),
    [
        (lambda: Conditions(groupings={"nobody": Grouping("shuffle")}), "the conditions name an operator 'nobody'"),
        (lambda: under("shuffle", (1.0, 0.0)), "speeds of replicas must be above 0"),
        (lambda: under("shuffle", interval_s=0.0), "interval_s of a grouping must be above 0"),
        (lambda: under("roundabout"), "there is no grouping 'roundabout'"),  # type: ignore[arg-type]
        (lambda: Conditions(restart=Restart(-1.0)), "downtime_s must be finite and not negative"),
    ],
)
def test_what_cannot_be_is_refused(conditions: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Simulation(pool(), Trace.from_timestamps_s([0.0, 1.0]), 1, conditions=conditions())


def test_micro_batches_have_no_grouping() -> None:
    batched = Pipeline("batched", [Operator("worker", 0.002, batches=Batches(0.1))])
    with pytest.raises(ValueError, match="'worker' works in micro-batches"):
        Simulation(batched, Trace.from_timestamps_s([0.0, 1.0]), 1, conditions=under("shuffle"))


@pytest.mark.parametrize(("loses", "departed", "last_s"), [(True, 5, 1.0), (False, 10, 5.0)])
def test_a_restart_stops_everything_and_may_lose_what_is_there(*, loses: bool, departed: int, last_s: float) -> None:
    """One tuple a second, 1 s each; down from 4.5 s to 8.5 s: four are served before, one is in service, four come."""
    trace = Trace.from_timestamps_s(np.arange(10) * 1.0)
    conditions = Conditions(restart=Restart(4.0, loses))
    simulation = Simulation(pool(2, demand_s=1.0, scv=0.0), trace, 1, conditions=conditions)
    simulation.advance(4.5)
    simulation.apply(Allocation.of(worker=Resources(1.0, 1)))
    simulation.drain()
    assert simulation.counters.departed == departed
    assert simulation.counters.lost == 10 - departed
    assert simulation.responses("worker").response_s[-1] == pytest.approx(last_s)
