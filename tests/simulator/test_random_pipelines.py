"""Random pipelines with loops, filters, flat maps, batches and replicas, under random changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mead.config import GroupingKind
from mead.policies import Restart
from mead.queueing import Edge
from mead.simulator import Conditions, Grouping, Simulation
from mead.values import Allocation, Batches, InvalidPipelineError, Operator, Pipeline, Resources
from mead.workload import Trace

shares = st.floats(0.2, 2.0)
replicas = st.integers(1, 4)
GROUPINGS = st.builds(
    Grouping,
    st.sampled_from(get_args(GroupingKind)),
    st.tuples(*[st.sampled_from([0.37, 1.0, 1.6])] * 4),
    st.sampled_from([0.5, 3.1]),
)


@dataclass(frozen=True)
class Case:
    pipeline: Pipeline
    trace: Trace
    seed: int
    start: Allocation
    changes: list[tuple[float, Allocation]]
    """When to order what."""
    conditions: Conditions

    def simulation(self) -> Simulation:
        return Simulation(self.pipeline, self.trace, self.seed, allocation=self.start, conditions=self.conditions)


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    count = draw(st.integers(1, 4))
    batches = st.none() | st.builds(
        Batches,
        overhead_s=st.floats(0.0, 0.5),
        trigger_s=st.none() | st.floats(0.1, 1.0),
        max_tuples=st.none() | st.integers(1, 5),
    )
    operators = [
        Operator(
            f"o{i}", draw(st.floats(0.05, 0.5)), draw(st.sampled_from([0.3, 0.5, 1.0, 3.0])), batches=draw(batches)
        )
        for i in range(count)
    ]
    ahead = [(i, j) for i in range(count) for j in range(i + 1, count) if draw(st.booleans())]
    back = [(i, j) for i in range(count) for j in range(i + 1) if draw(st.integers(0, 4)) == 0]
    edges = [Edge(f"o{i}", f"o{j}", draw(st.sampled_from([0.3, 0.8, 1.0, 1.4, 2.0]))) for i, j in ahead]
    edges += [Edge(f"o{i}", f"o{j}", draw(st.sampled_from([0.1, 0.3]))) for i, j in back]
    try:
        return Pipeline("random", operators, edges)
    except InvalidPipelineError:
        assume(False)  # noqa: FBT003 - a loop that returns more than it gets
        raise


@st.composite
def cases(draw: st.DrawFn) -> Case:
    pipeline = draw(pipelines())
    names = [operator.name for operator in pipeline.operators]
    allocations = st.fixed_dictionaries({n: st.builds(Resources, shares, replicas) for n in names}).map(Allocation.of)
    iats = draw(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=25))
    times = sorted(draw(st.lists(st.floats(0.0, 15.0), max_size=5)))
    steps = st.lists(st.tuples(st.floats(0.0, 15.0), st.floats(0.3, 1.5)), max_size=2)
    delays = st.sampled_from([0.0, 0.7])
    groupings = {
        operator.name: draw(GROUPINGS)
        for operator in pipeline.operators
        if operator.batches is None and draw(st.booleans())
    }
    timeouts = st.sampled_from([inf, 0.6, 2.0]) if all(o.batches is None for o in pipeline.operators) else st.just(inf)
    return Case(
        pipeline,
        Trace.from_iats_s(iats),
        draw(st.integers(0, 1000)),
        draw(allocations),
        [(time_s, draw(allocations)) for time_s in times],
        Conditions(
            draw(delays),
            draw(delays),
            interference={names[0]: draw(steps)},
            groupings=groupings,
            queue_size=draw(st.sampled_from([None, 1, 3])),
            timeout_s=draw(timeouts),
        ),
    )


def conserved(simulation: Simulation) -> bool:
    counters, sent = simulation.counters, simulation.sent
    observation = simulation.observe()
    machine = simulation._machine
    arrived = dict(zip(observation.operators, machine.operators["arrived"].tolist(), strict=False))
    completed = {name: machine.completed(place) for place, name in enumerate(observation.operators)}
    dropped = counters.rejected + counters.timed_out
    gone = counters.departed + counters.filtered + counters.lost + dropped
    return (
        counters.arrived + counters.copied == gone + counters.inside
        and counters.inside == sum(reading.backlog for reading in observation.operators.values())
        and all(arrived[n] == sum(k for edge, k in sent.items() if edge.split(">")[1] == n) for n in arrived)
        and sum(arrived.values()) == sum(completed.values()) + counters.inside + dropped
        and counters.departed == sum(simulation.responses(path).response_s.size for path in simulation.pipeline.paths)
        and machine.pool.size - machine.clock["room"][0] == machine.operators["queued"].sum()
    )


@given(cases())
def test_nothing_is_lost_and_nothing_comes_from_nowhere(case: Case) -> None:
    simulation = case.simulation()
    for time_s, allocation in case.changes:
        simulation.advance(time_s)
        assert conserved(simulation)
        simulation.apply(allocation)
        assert conserved(simulation)
    simulation.drain()
    assert conserved(simulation)
    assert simulation.counters.inside == 0
    assert simulation.counters.arrived == len(case.trace)


@settings(max_examples=200)
@given(case=cases(), restart=st.none() | st.builds(Restart, st.sampled_from([0.4, 2.3]), st.booleans()))
def test_a_simulator_that_is_obviously_right_agrees(case: Case, restart: Restart | None, naive: Any) -> None:
    case = replace(case, conditions=replace(case.conditions, restart=restart))
    simulation = case.simulation()
    conditions = case.conditions
    limits = (inf if conditions.queue_size is None else conditions.queue_size, conditions.timeout_s)
    expected = naive(case.pipeline, case.trace.times_s, case.seed, case.start, conditions.groupings, *limits)
    pending: list[tuple[float, str, str, Any]] = [
        (t, "interference", n, f) for n, steps in case.conditions.interference.items() for t, f in steps
    ]
    before = case.start
    for time_s, allocation in case.changes:
        simulation.advance(time_s)
        simulation.apply(allocation)
        if restart and any(before[name].replicas != allocation[name].replicas for name in allocation):
            pending.append((time_s + case.conditions.replicas_delay_s, "restart", next(iter(allocation)), restart))
        before = allocation
        for name, resources in allocation.items():
            pending.append((time_s + case.conditions.share_delay_s, "share", name, resources.share))
            pending.append((time_s + case.conditions.replicas_delay_s, "replicas", name, resources.replicas))
    for time_s, what, name, value in sorted(pending, key=lambda change: change[0]):
        expected.advance(time_s)
        station = expected.stations[name]
        if what == "interference":
            expected.factors[name] = value
        elif what == "restart":
            expected.restart(value.downtime_s, loses=value.loses)
        else:
            now = {"share": station.share, "replicas": station.replicas}
            expected.set(name, **(now | {what: value}))
    simulation.drain()
    expected.drain()
    assert simulation.counters.lost == expected.lost
    assert simulation.counters.rejected == sum(station.rejected for station in expected.stations.values())
    assert simulation.counters.timed_out == sum(station.timed_out for station in expected.stations.values())
    for path in case.pipeline.paths:
        responses = simulation.responses(path)
        found = np.column_stack([responses.arrival_s, responses.response_s])
        np.testing.assert_allclose(found, np.array(expected.left[path]).reshape(-1, 2), rtol=1e-9, atol=1e-9)
    busy_s = [reading.busy_s for reading in simulation.observe().operators.values()]
    assert busy_s == pytest.approx([station.cpu_s for station in expected.stations.values()])


@given(cases(), st.lists(st.floats(0.0, 20.0), max_size=10))
def test_a_run_does_not_depend_on_the_steps_in_which_it_is_made(case: Case, looks: list[float]) -> None:
    straight, stepped = case.simulation(), case.simulation()
    totals: dict[str, list[float]] = {}

    def look() -> None:
        for name, reading in stepped.observe().operators.items():
            one = totals.setdefault(name, [0, 0, 0.0])
            one[:] = one[0] + reading.arrived, one[1] + reading.completed, one[2] + reading.busy_s

    for time_s, allocation in case.changes:
        straight.advance(time_s)
        straight.apply(allocation)
        for look_s in sorted(t for t in looks if stepped.now_s <= t <= time_s):
            stepped.advance(look_s)
            look()
        stepped.advance(time_s)
        stepped.apply(allocation)
    straight.drain()
    stepped.advance(stepped.now_s + 0.1)
    look()
    stepped.drain()
    look()
    assert straight.counters == stepped.counters
    departed = straight.counters.departed
    assert straight._machine.log[:departed].tolist() == stepped._machine.log[:departed].tolist()
    for name, reading in straight.observe().operators.items():
        assert totals[name] == pytest.approx([reading.arrived, reading.completed, reading.busy_s])
