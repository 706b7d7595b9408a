from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from mead.clock import VirtualClock
from mead.knowledge.allocation import Allocation, Resources
from mead.knowledge.knowledge import Knowledge
from mead.knowledge.observation import Observation, OperatorReading
from mead.knowledge.pipeline import Operator, Pipeline
from mead.knowledge.plan import Plan
from mead.loop import ControlLoop, Mode, Round

PIPELINE = Pipeline("one", [Operator("matcher", 0.0015)])
LOW = Allocation.of(matcher=Resources(0.4))


@dataclass
class FakeEngine:
    """An engine that has always served 100 tuples at 2 ms each, and remembers what it was told."""

    missing: str = ""
    applied: list[Allocation] = field(default_factory=list)

    def observe(self, time_s: float) -> Observation:
        reading = OperatorReading(arrived=100, completed=100, backlog=0, busy_s=0.2)
        nothing = np.empty(0)
        return Observation(
            time_s,
            10.0,
            self.applied[-1],
            {"matcher": reading},
            {},
            iats_s=nothing,
            counts=nothing,
            missing=self.missing,
        )

    def apply(self, allocation: Allocation) -> None:
        self.applied.append(allocation)


@dataclass
class GoLow:
    """A policy that asks for the lowest share, and stumbles in one round if told so."""

    name: str = "go-low"
    interval_s: float = 10.0
    stumble_at_s: float = -1.0
    believed_s: float = 0.0

    def analyze(self, observation: Observation, knowledge: Knowledge) -> float:
        self.believed_s = knowledge.pipeline.operator("matcher").demand_s
        if observation.time_s == self.stumble_at_s:
            raise ZeroDivisionError("no arrivals")
        return 0.0

    def plan(self, observation: Observation, analysis: float, knowledge: Knowledge) -> Plan:
        return Plan(LOW, LOW, f"{knowledge.pipeline.name} is idle at {observation.time_s:g} s, load {analysis:g}")


def run(engine: FakeEngine, policy: GoLow, mode: Mode = Mode.ACT, duration_s: float = 30.0) -> list[Round]:
    rounds: list[Round] = []
    loop = ControlLoop(engine, policy, Knowledge(PIPELINE), VirtualClock(), mode=mode, record=rounds.append)
    loop.run(duration_s)
    return rounds


def test_it_turns_on_its_interval_and_applies_a_plan_once() -> None:
    engine = FakeEngine()
    rounds = run(engine, GoLow())
    assert [r.time_s for r in rounds] == [10.0, 20.0, 30.0]
    assert engine.applied == [PIPELINE.most, LOW]
    assert list(rounds[0].phase_s) == ["observe", "analyze", "plan", "execute"]


def test_a_round_that_fails_keeps_the_last_good_allocation_and_says_why() -> None:
    engine = FakeEngine()
    rounds = run(engine, GoLow(stumble_at_s=10.0))
    assert rounds[0].plan is not None
    assert rounds[0].plan.allocation == PIPELINE.most
    assert rounds[0].plan.reason == "keep, because this round failed in analyze: ZeroDivisionError: no arrivals"
    assert rounds[1].error == ""
    assert engine.applied[-1] == LOW


def test_missing_readings_keep_what_is_in_force() -> None:
    engine = FakeEngine(missing="the listener has sent nothing for 30 s")
    rounds = run(engine, GoLow())
    assert engine.applied == [PIPELINE.most]
    assert all(r.plan is not None and "nothing for 30 s" in r.plan.reason for r in rounds)


def test_advice_is_recorded_and_not_applied() -> None:
    engine = FakeEngine()
    rounds = run(engine, GoLow(), Mode.ADVISE)
    assert engine.applied == [PIPELINE.most]
    assert rounds[0].plan is not None
    assert rounds[0].plan.allocation == LOW


def test_an_observer_makes_no_plan() -> None:
    rounds = run(FakeEngine(), GoLow(), Mode.OBSERVE)
    assert all(r.plan is None and r.observation is not None for r in rounds)


def test_policies_are_told_the_measured_demand() -> None:
    policy = GoLow()
    run(FakeEngine(), policy, duration_s=60.0)
    assert policy.believed_s == pytest.approx(0.002)
