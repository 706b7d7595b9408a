"""Networks with loops, splits and joins against what is known of them exactly: traffic equations, Jackson's theorem."""

from __future__ import annotations

import numpy as np
import pytest

from mead.policies import Restart
from mead.queueing import Edge, Unstable, arrival_rates
from mead.queueing.queues.mmk import mmk
from mead.simulator import Conditions, Simulation
from mead.values import Allocation, Operator, Pipeline, Requirement, Resources
from mead.workload import Poisson, Trace

ARRIVALS = 200_000


def operators(**demands_s: float) -> list[Operator]:
    return [Operator(name, s, scv=1.0, shares=(1.0,), max_replicas=9) for name, s in demands_s.items()]


LOOP = Pipeline("the released demo", operators(a=0.1, b=1 / 15), [Edge("a", "b"), Edge("b", "b", 0.2)])
"""Of the authors' repository: B sends a fifth back to itself."""

FIG_2 = Pipeline(
    "Fig. 2 of the DRS paper",
    operators(a=0.03, b=0.06, c=0.06, d=0.05, e=0.02),
    [Edge("a", "b", 0.5), Edge("a", "c", 0.5), Edge("b", "d"), Edge("c", "e"), Edge("d", "e"), Edge("e", "a", 0.25)],
)
"""Split, join and loop. Every split is by coin, each on its own, so that a tuple may also take both ways or none."""


def simulated(pipeline: Pipeline, rate_per_s: float, replicas: dict[str, int]) -> tuple[Simulation, Trace]:
    trace = Poisson(rate_per_s=rate_per_s, count=ARRIVALS).generate(np.random.default_rng(5))
    held = Allocation.of({name: Resources(1.0, k) for name, k in replicas.items()})
    simulation = Simulation(pipeline, trace, 5, allocation=held)
    simulation.advance(trace.duration_s)
    return simulation, trace


@pytest.mark.parametrize(
    ("pipeline", "rate_per_s", "replicas"),
    [(LOOP, 6.0, {"a": 2, "b": 2}), (FIG_2, 20.0, {"a": 2, "b": 2, "c": 2, "d": 2, "e": 2})],
    ids=["loop", "fig2"],
)
def test_every_operator_gets_what_the_traffic_equations_say(
    pipeline: Pipeline, rate_per_s: float, replicas: dict[str, int]
) -> None:
    simulation, trace = simulated(pipeline, rate_per_s, replicas)
    external = [rate_per_s] + [0.0] * (len(replicas) - 1)
    expected = arrival_rates(pipeline.gains, external)
    readings = simulation.observe().operators
    measured = [readings[name].arrived / trace.duration_s for name in replicas]
    assert measured == pytest.approx(expected, rel=0.02)


def test_a_loop_with_exponential_services_is_a_jackson_network() -> None:
    """By Little's law, tuples at an operator are its rate times E[T_i] of M/M/k, though arrivals are not Poisson."""
    simulation, trace = simulated(LOOP, 6.0, {"a": 1, "b": 1})
    again = Simulation(LOOP, trace, 5, allocation=simulation.in_force)
    inside = []
    for second in range(100, int(trace.duration_s), 5):
        readings = again.observe(float(second)).operators
        inside.append([readings[name].backlog for name in ("a", "b")])
    for tuples, rate_per_s, demand_s in zip(np.mean(inside, axis=0), (6.0, 7.5), (0.1, 1 / 15), strict=True):
        exact = mmk(rate_per_s, demand_s, servers=1)
        assert not isinstance(exact, Unstable)
        assert tuples == pytest.approx(rate_per_s * exact.mean_s, rel=0.05)


def test_an_input_is_complete_when_all_that_came_of_it_is_done() -> None:
    fork = Pipeline(
        "fork",
        [Operator(name, s, scv=0.0, shares=(1.0,), max_replicas=9) for name, s in (("a", 1.0), ("b", 2.0), ("c", 5.0))],
        [Edge("a", "b", 2.0), Edge("a", "c")],
    )
    simulation = Simulation(
        fork,
        Trace.from_timestamps_s([0.0, 100.0]),
        1,
        allocation=Allocation.of(dict.fromkeys("abc", Resources(1.0, 1))),
    )
    simulation.drain()
    assert simulation.completions().response_s.tolist() == [6.0, 6.0]  # a and c; both tuples of b are done after 5 s


def test_what_a_filter_takes_completes_its_input() -> None:
    filtered = Pipeline("filter", [Operator(name, 1.0, scv=0.0, shares=(1.0,)) for name in "ab"], [Edge("a", "b", 0.5)])
    simulation = Simulation(filtered, Trace.from_timestamps_s(np.arange(1000) * 10.0), 1)
    simulation.drain()
    response_s = simulation.completions().response_s
    assert response_s.size == 1000
    assert 400 < (response_s == 1.0).sum() < 600
    assert set(response_s.tolist()) == {1.0, 2.0}
    assert simulation.responses("a>b").response_s.size == (response_s == 2.0).sum()


def test_only_the_way_to_judged_paths_has_to_be_done() -> None:
    operators = [Operator(name, s, scv=0.0, shares=(1.0,)) for name, s in (("a", 1.0), ("b", 2.0), ("c", 5.0))]
    fork = Pipeline("fork", operators, [Edge("a", "b"), Edge("a", "c")], [Requirement("a>b", 9.0)])
    simulation = Simulation(fork, Trace.from_timestamps_s([0.0, 100.0]), 1)
    simulation.advance(4.0)
    assert simulation.completions().response_s.tolist() == [3.0], "known at once, and c still works on the first"
    simulation.drain()
    assert simulation.completions().response_s.tolist() == [3.0, 3.0]


def test_an_input_takes_as_long_as_the_slowest_of_its_tuples() -> None:
    """With a server for every tuple: the mean of the longest of three exponential services is 1 + 1/2 + 1/3 of one."""
    three = Pipeline(
        "three", [Operator(n, 1.0, scv=1.0, shares=(1.0,), max_replicas=99) for n in "ab"], [Edge("a", "b", 3.0)]
    )
    trace = Trace.from_timestamps_s(np.arange(20_000) * 3.0)
    simulation = Simulation(three, trace, 1)
    simulation.drain()
    assert simulation.completions().response_s.mean() == pytest.approx(1 + 1 + 1 / 2 + 1 / 3, rel=0.02)
    assert simulation.responses("a>b").response_s.mean() == pytest.approx(2.0, rel=0.02), (
        "of its tuples the mean is shorter"
    )


def test_a_loop_is_done_when_nothing_goes_back_any_more() -> None:
    again = Pipeline(
        "again",
        [Operator(n, 1.0, scv=0.0, shares=(1.0,), max_replicas=99) for n in "ab"],
        [Edge("a", "b"), Edge("b", "b", 0.5)],
    )
    simulation = Simulation(again, Trace.from_timestamps_s(np.arange(20_000) * 5.0), 1)
    simulation.drain()
    response_s = simulation.completions().response_s
    assert response_s.mean() == pytest.approx(3.0, rel=0.02), "one at a, and a geometric number at b"
    assert (response_s == 2.0).mean() == pytest.approx(0.5, abs=0.02)


def test_every_observation_has_the_inputs_that_were_done_since_the_last() -> None:
    simulation, trace = simulated(FIG_2, 20.0, dict.fromkeys("abcde", 2))
    again = Simulation(FIG_2, trace, 5, allocation=simulation.in_force)
    seen = [again.observe(time_s).inputs for time_s in np.linspace(10.0, trace.duration_s, 7)]
    done = simulation.completions().response_s
    assert sum(one.completed for one in seen if one) == done.size
    assert sum(one.response_sum_s for one in seen if one) == pytest.approx(done.sum())


def test_an_input_that_lost_a_tuple_is_never_done() -> None:
    pair = Pipeline(
        "pair", [Operator(n, 1.0, scv=0.0, shares=(1.0,), max_replicas=2) for n in "ab"], [Edge("a", "b", 2.0)]
    )
    simulation = Simulation(
        pair, Trace.from_timestamps_s([0.0, 10.0]), 1, conditions=Conditions(restart=Restart(1.0, loses=True))
    )
    simulation.advance(1.5)
    simulation.apply(Allocation.of(dict.fromkeys("ab", Resources(1.0, 1))))
    simulation.drain()
    assert simulation.completions().arrival_s.tolist() == [10.0]
