from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from mead import simulator as experiment
from mead.queueing import Edge
from mead.simulator import FaultyMetrics, Simulation
from mead.simulator.metrics import MonitoredSimulation, joined
from mead.values import Allocation, Knowledge, Observation, Operator, Pipeline, Plan, Requirement, Resources
from mead.workload import Trace

PIPELINE = Pipeline(
    "two",
    [Operator("parser", 0.001), Operator("matcher", 0.004)],
    [Edge("parser", "matcher")],
    [Requirement("parser>matcher", bound_s=0.05)],
)
TRACE = Trace.from_timestamps_s(np.cumsum(np.random.default_rng(5).exponential(0.006, 10_000)))
HALF = Allocation.of(parser=Resources(1.0), matcher=Resources(0.85))


def simulation() -> Simulation:
    return Simulation(PIPELINE, TRACE, seed=3)


def facts(observation: Observation) -> tuple[object, ...]:
    """All that was read, to compare; sums may differ by rounding."""
    return (
        observation.allocation,
        {n: (r.arrived, r.completed, r.backlog, round(r.busy_s, 9)) for n, r in observation.operators.items()},
        {n: (p.completed, p.late, round(p.response_sum_s, 9)) for n, p in observation.paths.items()},
        observation.iats_s.tolist(),
        observation.counts.tolist(),
    )


def assert_same(one: Observation, other: Observation) -> None:
    assert one.time_s == pytest.approx(other.time_s)
    assert one.interval_s == pytest.approx(other.interval_s)
    assert facts(one) == facts(other)


def test_without_faults_nothing_differs_from_the_plain_engine() -> None:
    plain, monitored = simulation(), MonitoredSimulation(simulation(), FaultyMetrics())
    for time_s in (1.0, 2.0, 5.0, 15.0):
        seen = monitored.observe(time_s)
        assert_same(seen, plain.observe(time_s))
        assert seen.age_s == 0
        assert not seen.missing


@pytest.mark.parametrize("interval_s", [1.0, 2.0, 10.0])
def test_a_late_reading_is_what_was_true_then(interval_s: float) -> None:
    """With the allocation of then, too; orders act at once all the same."""
    plain, monitored = simulation(), MonitoredSimulation(simulation(), FaultyMetrics(late_s=5.0))
    told, ordered_s = 0, inf
    for turn in range(1, 13):
        time_s = turn * interval_s
        seen = monitored.observe(time_s)
        if time_s <= 5:
            assert seen.missing
        else:
            past_s = max(time_s - 5.0, 0.0)
            if told == 0:
                assert_same(seen, plain.observe(past_s))
            assert seen.time_s == past_s
            assert seen.age_s == 5
            told += 1
        if turn == 3:
            monitored.apply(HALF)
            ordered_s = time_s
        if turn > 3:
            assert monitored.simulation.in_force == HALF
            if not seen.missing:
                assert (seen.allocation == HALF) == (seen.time_s > ordered_s)
    assert told > 2


def test_no_reading_is_lost_or_counted_twice_when_metrics_are_late_and_missing() -> None:
    faults = FaultyMetrics(late_s=2.5, missing=((10.0, 20.0), (30.0, 31.0)))
    monitored, plain = MonitoredSimulation(simulation(), faults), simulation()
    seen = [monitored.observe(float(t)) for t in range(1, 41)]
    good = [o for o in seen if not o.missing]
    whole = plain.observe(good[-1].time_s)
    assert sum(o.interval_s for o in good) == pytest.approx(whole.time_s)
    for name, reading in whole.operators.items():
        assert sum(o.operators[name].arrived for o in good) == reading.arrived
        assert sum(o.operators[name].completed for o in good) == reading.completed
        assert sum(o.operators[name].busy_s for o in good) == pytest.approx(reading.busy_s)
    path = whole.paths["parser>matcher"]
    assert sum(o.paths["parser>matcher"].completed for o in good) == path.completed
    assert sum(o.paths["parser>matcher"].late for o in good) == path.late


def test_while_metrics_are_missing_it_says_so_and_what_was_missed_comes_afterwards() -> None:
    monitored, plain = MonitoredSimulation(simulation(), FaultyMetrics(missing=((10.0, 20.0),))), simulation()
    seen = {t: monitored.observe(float(t)) for t in range(1, 22)}
    assert [t for t, o in seen.items() if o.missing] == list(range(10, 20))
    assert seen[15].missing == "no metrics come in"
    assert seen[15].age_s == 6
    plain.observe(9.0)
    assert_same(seen[20], plain.observe(20.0))
    assert seen[20].interval_s == 11


@pytest.mark.parametrize(
    "faults", [{"late_s": -1.0}, {"late_s": inf}, {"period_s": 0.0}, {"missing": ((5.0, 5.0),)}, {"late_s": nan}]
)
def test_faults_that_make_no_sense_are_refused(faults: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"must be|from one time to a later one"):
        FaultyMetrics(**faults)  # type: ignore[arg-type]


class ByBacklog:
    """A policy that looks at the backlog of the matcher, and remembers the ages of what it was shown."""

    name = "by-backlog"
    interval_s = 1.0

    def __init__(self) -> None:
        self.ages_s: list[float] = []

    def analyze(self, observation: Observation, knowledge: Knowledge) -> int:
        del knowledge
        self.ages_s.append(observation.age_s)
        return observation.operators["matcher"].backlog

    def plan(self, observation: Observation, analysis: int, knowledge: Knowledge) -> Plan:
        del observation
        wanted = knowledge.pipeline.most if analysis > 5 else HALF
        return Plan.keep(wanted, f"{analysis} tuples wait")


def test_an_experiment_can_be_run_with_faulty_metrics() -> None:
    policy = ByBacklog()
    faults = FaultyMetrics(late_s=3.0, missing=((20.0, 30.0),))
    run = experiment.run(PIPELINE, TRACE, policy, seed=1, metrics=faults)
    assert set(policy.ages_s) == {3.0}
    kept = [r for r in run.rounds if r.observation is not None and r.observation.missing]
    assert [r.time_s for r in kept] == [1.0, 2.0, 3.0, *np.arange(20.0, 30.0)]
    assert all(r.in_force == before.in_force for before, r in zip(run.rounds[18:28], kept[3:], strict=True))
    assert run.simulation.counters.inside == 0
    assert all(not r.error for r in run.rounds)


def test_distorted_readings_reach_the_loop_and_are_refused_there() -> None:
    def backwards(observation: Observation) -> Observation:
        return replace(observation, time_s=5.0) if 10 <= observation.time_s < 15 else observation

    policy = ByBacklog()
    run = experiment.run(PIPELINE, TRACE, policy, seed=1, metrics=FaultyMetrics(distorted=backwards))
    complaints = [r.observation.missing for r in run.rounds if r.observation is not None and r.observation.missing]
    assert complaints == ["the readings are of 5 s, and there are some of 9 s already"] * 5


def test_tuples_beyond_every_bound_are_joined() -> None:
    """Two percentiles on a path: what is told late is what a plain engine tells of the whole time."""
    path = "parser>matcher"
    requirements = [Requirement(path, 0.02, percent=95), Requirement(path, 0.03, percent=99)]
    pipeline = Pipeline("two", PIPELINE.operators, PIPELINE.edges, requirements)
    plain = Simulation(pipeline, TRACE, seed=3)
    monitored = MonitoredSimulation(Simulation(pipeline, TRACE, seed=3), FaultyMetrics(missing=((1.0, 9.5),)))
    assert monitored.observe(5.0).missing
    beyond = plain.observe(10.0).paths[path].beyond
    assert beyond[0.02] > beyond[0.03] > 0
    assert monitored.observe(10.0).paths[path].beyond == beyond


def test_micro_batches_and_what_was_held_back_are_joined() -> None:
    plain = simulation()
    told = []
    for turn in (1, 2, 3):
        seen = plain.observe(float(turn))
        readings = {
            name: replace(reading, batches=turn, serving_s=turn / 4, throttled_s=turn / 8)
            for name, reading in seen.operators.items()
        }
        told.append(replace(seen, operators=readings))
    for reading in joined(told).operators.values():
        assert (reading.batches, reading.serving_s, reading.throttled_s) == (6, 1.5, 0.75)
