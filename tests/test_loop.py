from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from mead.clock import VirtualClock
from mead.loop import ControlLoop, Mode
from mead.values import (
    Allocation,
    Batches,
    Capacity,
    CutToFit,
    Knowledge,
    Observation,
    Operator,
    OperatorReading,
    PathReading,
    Pipeline,
    Plan,
    Resources,
    Round,
)

PIPELINE = Pipeline("one", [Operator("matcher", 0.0015, max_replicas=4)])
LOW = Allocation.of(matcher=Resources(0.4))
HIGH = PIPELINE.most
INTERVAL_S = 10.0


@dataclass
class FakeEngine:
    """An engine that has always served 100 tuples at 2 ms each.

    By turn, ``spoilt`` says what becomes of the readings, and ``stuck`` in which turns no order is taken. An order
    that fails has changed something all the same, as one that was half carried out.
    """

    spoilt: Mapping[int, Mapping[str, Any] | Exception] = field(default_factory=dict)
    stuck: frozenset[int] = frozenset()
    turn: int = 0
    in_force: Allocation | None = PIPELINE.most
    applied: list[Allocation] = field(default_factory=list)

    def observe(self, time_s: float) -> Observation:
        self.turn += 1
        spoilt = self.spoilt.get(self.turn, {})
        if isinstance(spoilt, Exception):
            raise spoilt
        good = Observation(
            time_s=time_s,
            interval_s=INTERVAL_S,
            allocation=self.in_force or HIGH,
            operators={"matcher": OperatorReading(arrived=100, completed=100, backlog=0, busy_s=0.2)},
            paths={"matcher": PathReading(completed=100, response_sum_s=1.0, late=0)},
            iats_s=np.full(99, 0.1),
            counts=np.full(100, 1.0),
        )
        return replace(good, **spoilt)

    def apply(self, allocation: Allocation) -> None:
        self.in_force = None
        if self.turn in self.stuck:
            raise PermissionError("cpu.cfs_quota_us cannot be written")
        self.applied.append(allocation)
        self.in_force = allocation


@dataclass
class GoLow:
    """A policy that asks for the lowest share, or for what it is told to in a turn; and stumbles if told so."""

    answers: Mapping[int, Allocation | Exception] = field(default_factory=dict)
    name: str = "go-low"
    interval_s: float = INTERVAL_S
    believed_s: float = 0.0

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Allocation:
        self.believed_s = knowledge.pipeline.operators[0].demand_s
        answer = self.answers.get(round(observation.time_s / INTERVAL_S), LOW)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def plan(self, observation: Observation, analysis: Allocation, knowledge: Knowledge) -> Plan:
        return Plan.keep(analysis, f"{knowledge.pipeline.name} is idle at {observation.time_s:g} s")


def run(
    engine: FakeEngine,
    policy: GoLow | None = None,
    mode: Mode = Mode.ACT,
    *,
    turns: int = 3,
    pipeline: Pipeline = PIPELINE,
    capacity: Capacity | None = None,
) -> list[Round]:
    rounds: list[Round] = []
    policy = policy or GoLow()
    knowledge = Knowledge(pipeline, capacity=capacity)
    loop = ControlLoop(engine, policy, knowledge, VirtualClock(), mode=mode, record=rounds.append)
    loop.run(turns * INTERVAL_S)
    return rounds


def reason(this: Round) -> str:
    assert this.plan is not None
    return str(this.plan.reason)


def test_it_turns_on_its_interval_and_applies_a_plan_once() -> None:
    engine = FakeEngine()
    rounds = run(engine)
    assert [r.time_s for r in rounds] == [10.0, 20.0, 30.0]
    assert engine.applied == [HIGH, LOW]
    assert list(rounds[0].phase_s) == ["observe", "analyze", "plan", "execute"]
    assert list(rounds[1].phase_s) == ["observe", "analyze", "plan"]
    assert [r.in_force for r in rounds] == [LOW] * 3


def test_every_phase_is_timed_even_the_one_that_fails() -> None:
    ticks = iter(range(100))
    loop = ControlLoop(
        FakeEngine(),
        GoLow({1: ZeroDivisionError("no arrivals")}),
        Knowledge(PIPELINE),
        VirtualClock(),
        cpu_s=lambda: float(next(ticks)),
    )
    loop.clock.wait_until(INTERVAL_S)
    assert loop.round().phase_s == {"observe": 1.0, "analyze": 1.0, "execute": 1.0}


def test_a_policy_that_fails_keeps_the_last_good_allocation_and_says_why() -> None:
    engine = FakeEngine()
    rounds = run(engine, GoLow({2: ZeroDivisionError("no arrivals")}))
    assert rounds[1].error == "analyze: ZeroDivisionError: no arrivals"
    assert reason(rounds[1]) == "Keep the allocation, because the round failed."
    assert rounds[1].in_force == LOW
    assert rounds[2].error == ""
    assert engine.applied == [HIGH, LOW]


def test_an_engine_that_cannot_be_read_changes_nothing() -> None:
    engine = FakeEngine(spoilt={1: ConnectionError("the listener is gone")})
    rounds = run(engine)
    assert rounds[0].observation is None
    assert rounds[0].error == "observe: ConnectionError: the listener is gone"
    assert reason(rounds[0]) == "Keep the allocation, because the round failed."
    assert engine.applied == [HIGH, LOW]


def test_an_order_that_fails_is_tried_again_and_not_believed() -> None:
    engine = FakeEngine(stuck=frozenset({1, 2}))
    rounds = run(engine)
    assert [r.error for r in rounds] == ["execute: PermissionError: cpu.cfs_quota_us cannot be written"] * 2 + [""]
    assert [r.in_force for r in rounds] == [HIGH, HIGH, LOW]
    assert all(r.plan is not None and r.plan.allocation == LOW for r in rounds)
    assert engine.in_force == LOW


def test_after_an_order_that_failed_half_way_even_keeping_is_an_order() -> None:
    engine = FakeEngine(spoilt={2: {"missing": "nothing was read"}}, stuck=frozenset({1}))
    rounds = run(engine, turns=2)
    assert rounds[1].in_force == HIGH
    assert engine.in_force == HIGH


def test_a_start_that_fails_is_recorded_and_made_good() -> None:
    engine = FakeEngine(stuck=frozenset({0}))
    rounds = run(engine, GoLow({1: HIGH}), turns=1)
    assert [(r.time_s, r.error != "") for r in rounds] == [(0.0, True), (10.0, False)]
    assert engine.applied == [HIGH]


def test_missing_readings_keep_what_is_in_force() -> None:
    engine = FakeEngine(spoilt={n: {"missing": "the listener has sent nothing for 30 s"} for n in (1, 2, 3)})
    rounds = run(engine)
    assert engine.applied == [HIGH]
    assert all(reason(r) == "Keep the allocation, because the listener has sent nothing for 30 s." for r in rounds)


@pytest.mark.parametrize(
    ("spoilt", "complaint"),
    [
        ({"operators": {}}, "there is no reading of matcher"),
        ({"paths": {}}, "there is no reading of matcher"),
        ({"allocation": Allocation.of()}, "there is no allocation of matcher"),
        ({"operators": {"matcher": OperatorReading(-1, 100, 0, 0.2)}}, "arrived of matcher is said to be -1"),
        ({"operators": {"matcher": OperatorReading(100, 100, -5, 0.2)}}, "backlog of matcher is said to be -5"),
        ({"operators": {"matcher": OperatorReading(100, 100, 0, nan)}}, "busy_s of matcher is said to be nan"),
        ({"paths": {"matcher": PathReading(10, inf, 0)}}, "response of matcher is said to be inf"),
        ({"paths": {"matcher": PathReading(10, 1.0, 11)}}, "of 10 tuples on matcher, 11 are said to be late"),
        ({"time_s": 10.0}, "the readings are of 10 s, and there are some of 10 s already"),
        ({"time_s": nan}, "the readings are of nan s, and there are some of 10 s already"),
        ({"interval_s": 0.0}, "the readings are said to be of an interval of 0 s"),
        ({"age_s": -1.0}, "the readings are said to be -1 s old"),
        ({"iats_s": np.array([0.1, nan])}, "least of the IATs of the source is said to be nan"),
        ({"counts": np.array([3.0, -2.0])}, "least of the counts of the source is said to be -2"),
    ],
)
def test_readings_that_cannot_be_true_are_as_good_as_missing(spoilt: dict[str, Any], complaint: str) -> None:
    engine, policy = FakeEngine(spoilt={2: spoilt}), GoLow({2: HIGH})
    rounds = run(engine, policy)
    assert [r.error for r in rounds] == [""] * 3
    assert reason(rounds[1]) == f"Keep the allocation, because {complaint}."
    assert rounds[1].observation is not None
    assert rounds[1].observation.missing == complaint
    assert engine.applied == [HIGH, LOW]


def test_nothing_is_learned_from_readings_that_cannot_be_true() -> None:
    absurd = {"operators": {"matcher": OperatorReading(100, 100, -1, 50.0)}}
    policy = GoLow()
    run(FakeEngine(spoilt=dict.fromkeys(range(5, 60), absurd)), policy, turns=60)
    assert policy.believed_s == pytest.approx(0.002)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (
            Allocation.of(matcher=Resources(0.5)),
            "operator matcher may have a share of [0.4, 0.55, 0.7, 0.85, 1.0]; got 0.5",
        ),
        (
            Allocation.of(matcher=Resources(nan)),
            "operator matcher may have a share of [0.4, 0.55, 0.7, 0.85, 1.0]; got nan",
        ),
        (Allocation.of(matcher=Resources(0.4, 5)), "operator matcher may have 1 to 4 replicas; got 5"),
        (Allocation.of(), "the allocation gives nothing to operator matcher"),
        (LOW.of(LOW, parser=Resources(0.4)), "the allocation names parser, which one does not have"),
    ],
)
def test_what_an_operator_may_not_have_is_not_applied(wrong: Allocation, complaint: str) -> None:
    engine = FakeEngine()
    rounds = run(engine, GoLow({2: wrong}))
    assert rounds[1].error == f"plan: ValueError: {complaint}"
    assert engine.applied == [HIGH, LOW]


def test_the_same_allocation_in_another_order_is_no_change() -> None:
    pipeline = Pipeline("two", [Operator("a", 0.001), Operator("b", 0.001)])
    turned = Allocation.of({name: pipeline.most[name] for name in ("b", "a")})
    engine = FakeEngine(
        in_force=pipeline.most,
        spoilt={
            1: {
                "operators": {n: OperatorReading(1, 1, 0, 0.1) for n in "ab"},
                "paths": {n: PathReading(1, 0.1, 0) for n in "ab"},
            }
        },
    )
    rounds = run(engine, GoLow({1: turned}), turns=1, pipeline=pipeline)
    assert rounds[0].error == ""
    assert engine.applied == [pipeline.most]


def test_advice_is_recorded_and_not_applied() -> None:
    engine = FakeEngine(in_force=Allocation.of(matcher=Resources(0.7)))
    rounds = run(engine, mode=Mode.ADVISE)
    assert engine.applied == []
    assert rounds[0].plan is not None
    assert rounds[0].plan.allocation == LOW
    assert rounds[0].in_force == Allocation.of(matcher=Resources(0.7))


def test_an_observer_makes_no_plan_whatever_happens() -> None:
    engine = FakeEngine(spoilt={2: ConnectionError("the listener is gone"), 3: {"operators": {}}})
    rounds = run(engine, mode=Mode.OBSERVE)
    assert engine.applied == []
    assert all(r.plan is None for r in rounds)
    assert [r.error for r in rounds] == ["", "observe: ConnectionError: the listener is gone", ""]


def test_policies_are_told_the_measured_demand() -> None:
    policy = GoLow()
    run(FakeEngine(), policy, turns=6)
    assert policy.believed_s == pytest.approx(0.002)


def test_turns_that_a_slow_round_has_missed_are_left_out() -> None:
    class SlowClock(VirtualClock):
        """A round that begins at 20 s takes 25 s."""

        late_s = 0.0

        def now_s(self) -> float:
            return super().now_s() + self.late_s

        def wait_until(self, time_s: float) -> None:
            super().wait_until(time_s)
            self.late_s = 0.0

    class SlowPolicy(GoLow):
        def analyze(self, observation: Observation, knowledge: Knowledge) -> Allocation:
            clock.late_s = 25.0 if observation.time_s == 20.0 else 0.0
            return super().analyze(observation, knowledge)

    clock, rounds = SlowClock(), list[Round]()
    ControlLoop(FakeEngine(), SlowPolicy(), Knowledge(PIPELINE), clock, record=rounds.append).run(60.0)
    assert [r.time_s for r in rounds] == [10.0, 20.0, 50.0, 60.0]


def serving(overhead_s: float, batches: int = 5) -> dict[str, Any]:
    """Readings of an operator at the lowest share that takes 2 ms per tuple, and so long for every micro-batch."""
    serving_s = batches * overhead_s + 100 * 0.002 / 0.4
    reading = OperatorReading(100, 100, 0, 0.2, batches, serving_s)
    return {"operators": {"matcher": reading}, "allocation": LOW}


@dataclass
class Listener(GoLow):
    """Remembers what it was told of overheads."""

    overheads_s: list[float] = field(default_factory=list)

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Allocation:
        del observation
        batches = knowledge.pipeline.operators[0].batches
        assert batches is not None
        self.overheads_s.append(batches.overhead_s)
        return LOW


IN_BATCHES = Pipeline("one", [replace(PIPELINE.operators[0], batches=Batches(overhead_s=0.3))])


def test_policies_are_told_the_overhead_of_micro_batches_as_it_was_learned() -> None:
    policy = Listener()
    run(FakeEngine({turn: serving(0.05) for turn in range(1, 21)}), policy, turns=20, pipeline=IN_BATCHES)
    assert policy.overheads_s[0] == 0.3, "declared"
    assert policy.overheads_s[-1] == pytest.approx(0.05, rel=0.1)  # the first were taken with the declared demand


def test_micro_batches_that_began_under_another_share_teach_nothing() -> None:
    told = {turn: serving(0.05) for turn in range(1, 31)}
    for turn in range(6, 31, 3):  # for one interval all that there is, with batches that began at the lowest share
        told[turn]["allocation"] = HIGH
    policy = Listener()
    run(FakeEngine(told), policy, turns=30, pipeline=IN_BATCHES)
    assert policy.overheads_s[-1] == pytest.approx(0.05, rel=0.1)


@pytest.mark.parametrize("absurd", [{"batches": -1}, {"serving_s": nan}, {"serving_s": -5.0}, {"serving_s": inf}])
def test_absurd_times_of_micro_batches_teach_nothing(absurd: dict[str, Any]) -> None:
    spoilt = {turn: serving(0.05) for turn in range(1, 21)}
    for turn in range(12, 18):
        spoilt[turn]["operators"] = {"matcher": replace(spoilt[turn]["operators"]["matcher"], **absurd)}
    policy = Listener()
    rounds = run(FakeEngine(spoilt), policy, turns=20, pipeline=IN_BATCHES)
    name = next(iter(absurd))
    assert all(
        reason(this).startswith(f"Keep the allocation, because {name} of matcher is said to be")
        for this in rounds[11:17]
    )
    assert policy.overheads_s[-1] == pytest.approx(0.05, rel=0.1)  # the first were taken with the declared demand


def test_a_loop_that_was_ended_can_be_started_again_and_keeps_what_was_in_force() -> None:
    """As by a supervisor, when the thread of the controller has died."""

    class Died(Exception):  # noqa: N818 - not ours to handle
        pass

    engine, rounds = FakeEngine(), list[Round]()

    def record(this: Round) -> None:
        rounds.append(this)
        if len(rounds) == 3:
            raise Died

    loop = ControlLoop(engine, GoLow(), Knowledge(PIPELINE), VirtualClock(), record=record)
    with pytest.raises(Died):
        loop.run(8 * INTERVAL_S)
    assert engine.applied == [HIGH, LOW]
    loop.run(8 * INTERVAL_S)
    assert engine.applied == [HIGH, LOW], "nothing is ordered anew"
    assert {str(this.in_force) for this in rounds} == {str(LOW)}
    assert rounds[-1].time_s == 8 * INTERVAL_S
    assert reason(rounds[-1]) == "Keep the allocation, because one is idle at 80 s."
    assert loop.estimates.demands_s["matcher"] == pytest.approx(0.002)


NUMBERS = st.one_of(st.floats(), st.integers(-10, 10))
READINGS = st.fixed_dictionaries(
    {},
    optional={
        "time_s": NUMBERS,
        "interval_s": NUMBERS,
        "age_s": NUMBERS,
        "missing": st.sampled_from(["", "lost"]),
        "operators": st.dictionaries(
            st.sampled_from(["matcher", "ghost"]), st.builds(OperatorReading, NUMBERS, NUMBERS, NUMBERS, NUMBERS)
        ),
        "paths": st.dictionaries(st.just("matcher"), st.builds(PathReading, NUMBERS, NUMBERS, NUMBERS)),
        "allocation": st.builds(
            Allocation.of, st.dictionaries(st.just("matcher"), st.builds(Resources, NUMBERS, NUMBERS))
        ),
        "iats_s": st.lists(NUMBERS, max_size=3).map(lambda values: np.array(values, dtype=float)),
    },
)
FAULTS = st.just(OSError("broken"))
TURNS = st.integers(0, 8)
ALLOCATIONS = st.builds(
    Allocation.of,
    st.dictionaries(
        st.sampled_from(["matcher", "matcher", "ghost"]),
        st.builds(Resources, st.sampled_from([0.4, 0.55, 1.0, 7.0, nan, -1.0]), st.sampled_from([1, 4, 0, 99])),
    ),
)


@given(
    spoilt=st.dictionaries(TURNS, READINGS | FAULTS),
    stuck=st.frozensets(TURNS),
    answers=st.dictionaries(TURNS, ALLOCATIONS | FAULTS),
    mode=st.sampled_from(Mode),
)
def test_whatever_fails_every_round_is_recorded_and_only_allowed_allocations_are_applied(
    spoilt: dict[int, dict[str, Any] | Exception],
    stuck: frozenset[int],
    answers: dict[int, Allocation | Exception],
    mode: Mode,
) -> None:
    engine = FakeEngine(spoilt, stuck)
    rounds = [r for r in run(engine, GoLow(answers), mode, turns=8) if r.time_s > 0]
    assert [r.time_s for r in rounds] == [10.0 * turn for turn in range(1, 9)]
    for allocation in engine.applied:
        PIPELINE.check(allocation)
    assert engine.applied == [] or mode is Mode.ACT
    for this in rounds:
        assert this.in_force is not None
        assert (this.plan is None) == (mode is Mode.OBSERVE)
    if mode is Mode.ACT and engine.in_force is not None:
        assert rounds[-1].in_force == engine.in_force


class CountThreads(GoLow):
    """Notes on how many threads matrices are multiplied while it plans."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def plan(self, observation: Observation, analysis: Allocation, knowledge: Knowledge) -> Plan:
        self.threads |= blas_threads()
        return super().plan(observation, analysis, knowledge)


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_what_a_policy_computes_stays_on_one_core() -> None:
    policy = CountThreads()
    with threadpool_limits(2, user_api="blas"):
        run(FakeEngine(), policy)
        assert policy.threads == {1}
        assert blas_threads() == {2}, "others may go on as they did"


def test_a_round_holds_the_demands_learned_up_to_it() -> None:
    rounds = run(FakeEngine(spoilt={6: {"missing": "no answer"}}), turns=6)
    assert rounds[0].demands_s == {"matcher": 0.0015}, "as declared"
    assert rounds[-1].demands_s == {"matcher": pytest.approx(0.002)}, "learned before the readings were missing"
    assert rounds[-1].learned(PIPELINE).operators[0].demand_s == rounds[-1].demands_s["matcher"]


def test_no_plan_has_more_processors_than_there_are() -> None:
    engine = FakeEngine(in_force=LOW)
    rounds = run(engine, GoLow({2: HIGH}), capacity=Capacity(2))
    two = Allocation.of(matcher=Resources(1.0, 2))
    assert engine.applied == [two, LOW, two, LOW], "neither the start nor a plan"
    cut = rounds[1].plan
    assert cut is not None
    assert cut.target == HIGH
    assert CutToFit(processors=2, wanted=4.0) in cut.reason.facts
    assert "there are 2 processors, and the target needs 4" in str(cut.reason)
