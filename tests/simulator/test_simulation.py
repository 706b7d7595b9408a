"""Small cases that can be followed by hand, and what a caller does wrong."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mead.queueing import Edge
from mead.simulator import Conditions, Simulation
from mead.values import Allocation, Batches, Operator, Pipeline, Resources
from mead.workload import Trace


def constant(name: str, demand_s: float, batches: Batches | None = None) -> Operator:
    return Operator(name, demand_s, scv=0.0, batches=batches)


def one(demand_s: float, batches: Batches | None = None) -> Pipeline:
    return Pipeline("one", [constant("a", demand_s, batches)])


def matcher(share: float, replicas: int = 1) -> Allocation:
    return Allocation.of(a=Resources(share, replicas))


def at(times_s: npt.ArrayLike) -> Trace:
    return Trace.from_timestamps_s(times_s)


def responses(simulation: Simulation, path: str) -> Any:
    """Of all tuples, up to rounding."""
    simulation.drain()
    return pytest.approx(simulation.responses(path).response_s.tolist())


def test_a_change_of_share_acts_on_what_is_left_of_the_service() -> None:
    simulation = Simulation(one(1.0), at([0.0, 0.25]), seed=1)
    simulation.advance(0.5)
    simulation.apply(matcher(0.5))  # half of the first is left, which takes a second now
    simulation.advance(1.0)
    simulation.apply(matcher(2.0))  # a quarter is left
    assert responses(simulation, "a") == [1.125, 1.375]


def test_added_replicas_start_waiting_tuples_at_once() -> None:
    simulation = Simulation(one(4.0), at([0.0, 0.0, 0.0, 0.0]), seed=1)
    simulation.advance(1.0)
    simulation.apply(matcher(1.0, replicas=3))
    simulation.advance(2.0)
    assert simulation.counters.inside == 4
    assert responses(simulation, "a") == [4.0, 5.0, 5.0, 8.0]


def test_removed_replicas_finish_the_tuple_they_serve() -> None:
    simulation = Simulation(one(4.0), at([0.0] * 5), seed=1, allocation=matcher(1.0, replicas=3))
    simulation.advance(1.0)
    simulation.apply(matcher(1.0, replicas=1))
    assert responses(simulation, "a") == [4.0, 4.0, 4.0, 8.0, 12.0]


def test_a_change_comes_into_force_after_its_own_delay() -> None:
    conditions = Conditions(share_delay_s=1.0, replicas_delay_s=2.0)
    simulation = Simulation(one(1.0), at([0.0, 10.0]), seed=1, conditions=conditions)
    simulation.apply(matcher(0.5, replicas=4))
    seen = [simulation.observe(t).allocation["a"] for t in (0.5, 1.0, 1.5, 2.0)]
    assert seen == [Resources(1.0, 1), Resources(0.5, 1), Resources(0.5, 1), Resources(0.5, 4)]
    assert simulation.timeline.times_s == [0.0, 1.0, 2.0]


def test_orders_under_way_come_into_force_one_after_the_other() -> None:
    simulation = Simulation(one(10.0), at([0.0, 100.0]), seed=1, conditions=Conditions(share_delay_s=1.0))
    simulation.apply(matcher(0.5))
    simulation.advance(0.5)
    simulation.apply(matcher(1.0))
    simulation.apply(matcher(1.0))  # asked for already
    simulation.drain()
    assert simulation.timeline.times_s == [0.0, 1.0, 1.5]
    assert simulation.responses("a").response_s[0] == pytest.approx(10.25)


def test_interference_slows_the_work_and_is_charged_for() -> None:
    conditions = Conditions(interference={"a": [(1.0, 0.5), (3.0, 1.0)]})
    simulation = Simulation(one(3.0), at([0.0, 50.0]), seed=1, conditions=conditions, allocation=matcher(0.5))
    reading = simulation.observe(40.0).operators["a"]
    assert reading.completed == 1
    assert reading.busy_s == pytest.approx(3.5)  # 7 s at half a core
    assert simulation.responses("a").response_s.tolist() == pytest.approx([7.0])
    assert simulation.timeline.times_s == [0.0]


def test_the_true_demand_can_differ_from_the_declared_one() -> None:
    conditions = Conditions(demand_factors={"a": 1.5})
    assert responses(Simulation(one(1.0), at([0.0, 9.0]), seed=1, conditions=conditions), "a") == [1.5, 1.5]


def test_a_micro_batch_is_split_over_the_replicas_and_keeps_its_overhead_at_any_share() -> None:
    pipeline = one(1.0, Batches(overhead_s=0.5))
    times = [0.0, 1.0, 1.1, 1.2, 1.3, 1.4]
    simulation = Simulation(pipeline, at(times), seed=1, allocation=matcher(0.5, replicas=2))
    # One tuple until 2.5; then five, of which one task has three: 2.5 + 0.5 + 3 / 0.5
    expected = [2.5, *(9.0 - t for t in times[1:])]
    assert responses(simulation, "a") == expected
    assert simulation.observe().operators["a"].busy_s == pytest.approx(6.0)


def test_a_change_in_the_overhead_of_a_batch_leaves_the_overhead_as_it_is() -> None:
    simulation = Simulation(one(1.0, Batches(overhead_s=2.0)), at([0.0, 0.0]), seed=1)
    simulation.advance(1.0)
    simulation.apply(matcher(0.5, replicas=2))  # the batch of one task is running already
    assert simulation.observe().operators["a"].busy_s == 0
    assert responses(simulation, "a") == [6.0, 6.0]


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_a_batch_takes_all_that_a_batch_upstream_hands_over(names: tuple[str, str]) -> None:
    first, second = names
    operators = {first: constant(first, 1.0, Batches(0.0)), second: constant(second, 0.1, Batches(1.0))}
    pipeline = Pipeline("chain", [operators["a"], operators["b"]], [Edge(first, second)])
    simulation = Simulation(pipeline, at([0.0, 0.0, 0.0]), seed=1)
    assert responses(simulation, f"{first}>{second}") == [4.3, 4.3, 4.3]


def test_copies_go_to_every_successor_and_every_source_gets_the_arrivals() -> None:
    operators = [constant("a", 1.0), constant("b", 2.0), constant("c", 4.0)]
    pipeline = Pipeline("two sources", operators, [Edge("a", "b"), Edge("a", "c")])
    simulation = Simulation(pipeline, at([0.0, 100.0]), seed=1)
    assert responses(simulation, "a>b") == [3.0, 3.0]
    assert responses(simulation, "a>c") == [5.0, 5.0]
    apart = Simulation(Pipeline("apart", operators), at([0.0, 100.0]), seed=1)
    assert [responses(apart, name) for name in ("a", "b", "c")] == [[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]]
    assert apart.sent == {">a": 2, ">b": 2, ">c": 2}


def test_paths_that_meet_are_told_apart() -> None:
    operators = [constant("a", 1.0), constant("b", 1.0), constant("c", 5.0), constant("d", 0.5)]
    edges = [Edge("a", "b"), Edge("a", "c"), Edge("b", "d"), Edge("c", "d")]
    simulation = Simulation(Pipeline("diamond", operators, edges), at([0.0, 100.0]), seed=1)
    assert responses(simulation, "a>b>d") == [2.5, 2.5]
    assert responses(simulation, "a>c>d") == [6.5, 6.5]


def test_a_filter_and_a_flat_map_keep_their_means() -> None:
    operators = [constant("a", 0.01), constant("b", 0.01), constant("c", 0.01)]
    pipeline = Pipeline("selective", operators, [Edge("a", "b", 0.3), Edge("b", "c", 2.4)])
    simulation = Simulation(pipeline, at(np.arange(20_000) * 0.1), seed=5)
    simulation.drain()
    assert simulation.sent["a>b"] / 20_000 == pytest.approx(0.3, abs=4 * 0.46 / 20_000**0.5)
    assert simulation.sent["b>c"] / simulation.sent["a>b"] == pytest.approx(2.4, abs=4 * 0.49 / 6_000**0.5)
    assert simulation.counters.filtered == 20_000 - simulation.sent["a>b"]
    assert simulation.counters.departed == simulation.sent["b>c"] == simulation.responses("a>b>c").response_s.size


def test_a_tuple_that_is_sent_back_from_the_end_counts_when_it_leaves_for_good() -> None:
    pipeline = Pipeline("loop", [constant("a", 1.0), constant("b", 1.0)], [Edge("a", "b"), Edge("b", "a", 0.5)])
    simulation = Simulation(pipeline, at(np.arange(2_000) * 1_000.0), seed=3)
    simulation.drain()
    rounds = simulation.responses("a>b").response_s / 2.0
    assert rounds.size == 2_000
    assert np.array_equal(rounds, np.rint(rounds))
    assert rounds.sum() == 2_000 + simulation.sent["b>a"]
    assert rounds.mean() == pytest.approx(2.0, rel=0.1)


def test_a_copy_that_goes_back_from_the_middle_counts_beside_its_original() -> None:
    operators = [constant("a", 1.0), constant("b", 1.0), constant("c", 1.0)]
    pipeline = Pipeline("loop", operators, [Edge("a", "b"), Edge("b", "c"), Edge("b", "a", 0.5)])
    simulation = Simulation(pipeline, at(np.arange(2_000) * 1_000.0), seed=3)
    simulation.drain()
    response_s = simulation.responses("a>b>c").response_s
    assert response_s.size == 2_000 + simulation.sent["b>a"]
    assert np.sort(np.unique(response_s))[:3].tolist() == pytest.approx([3.0, 5.0, 7.0])


def test_a_tuple_sent_back_to_where_it_never_was_goes_on_by_the_first_path_through_there() -> None:
    operators = [constant("a", 1.0), constant("b", 1.0), constant("c", 10.0), constant("d", 1.0)]
    edges = [Edge("a", "b", 0.01), Edge("a", "c"), Edge("b", "d"), Edge("c", "d"), Edge("d", "b", 0.5)]
    simulation = Simulation(Pipeline("back", operators, edges), at(np.arange(500) * 1_000.0), seed=3)
    simulation.drain()
    straight, turned = (simulation.responses(path).response_s for path in ("a>c>d", "a>b>d"))
    assert straight.tolist() == pytest.approx([12.0] * straight.size)
    assert straight.size + turned.size == 500 + simulation.sent["a>b"]
    assert (turned >= 14.0).sum() > 200  # over c, and back from d


def test_queues_and_departures_may_grow_far_beyond_what_was_expected() -> None:
    operators = [constant("a", 1e-6), constant("b", 10.0)]
    pipeline = Pipeline("overload", operators, [Edge("a", "b", 3.0)])
    simulation = Simulation(pipeline, at(np.arange(20_000) * 1e-3), seed=1)
    simulation.advance(25.0)
    assert simulation.counters.inside == 60_000 - 2
    simulation.apply(Allocation.of(a=Resources(1.0), b=Resources(1e6)))
    simulation.advance(30.0)
    assert simulation.counters.departed == 60_000
    assert np.all(np.diff(simulation.responses("a>b").arrival_s) >= 0)


def test_draining_an_empty_pipeline_leaves_the_time_as_it_is() -> None:
    simulation = Simulation(one(1.0), at([0.0, 1.0]), seed=1, conditions=Conditions(interference={"a": [(99.0, 0.5)]}))
    simulation.advance(50.0)
    simulation.drain()
    assert simulation.now_s == 50.0
    assert simulation.empty


def test_time_does_not_run_backwards() -> None:
    simulation = Simulation(one(1.0), at([0.0, 1.0]), seed=1)
    simulation.advance(5.0)
    for until_s in (4.0, nan, inf):
        with pytest.raises(ValueError, match="time runs forward: it is 5 s"):
            simulation.advance(until_s)


@pytest.mark.parametrize(
    ("allocation", "message"),
    [
        (Allocation.of(b=Resources(1.0)), "names an operator 'b'; those of one are a"),
        (Allocation.of(), "gives nothing to operator 'a'"),
        (matcher(0.0), "operator 'a' needs a share above 0"),
        (matcher(nan), "operator 'a' needs a share above 0"),
        (matcher(1.0, 0), "at least one replica"),
    ],
)
def test_an_allocation_that_cannot_be_is_refused(allocation: Allocation, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Simulation(one(1.0), at([0.0, 1.0]), seed=1).apply(allocation)


def test_conditions_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="share_delay_s must be finite and not negative; got -1"):
        Conditions(share_delay_s=-1.0)
    with pytest.raises(ValueError, match="demand factor of a must be above 0"):
        Conditions(demand_factors={"a": 0.0})
    with pytest.raises(ValueError, match="interference at a from 5 s on must be above 0"):
        Conditions(interference={"a": [(5.0, 0.0)]})
    with pytest.raises(ValueError, match="from 0 s on; got -5 s"):
        Conditions(interference={"a": [(-5.0, 0.5)]})
    with pytest.raises(ValueError, match="the conditions name an operator 'c'"):
        Simulation(one(1.0), at([0.0, 1.0]), seed=1, conditions=Conditions(demand_factors={"c": 2.0}))


def test_an_unknown_path_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no path b; those of one are a"):
        Simulation(one(1.0), at([0.0, 1.0]), seed=1).responses("b")
