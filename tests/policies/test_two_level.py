from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mead.policies import decide, make_policy, options_class
from mead.policies.baselines.static import StaticOptions
from mead.policies.reasons import Remark, ShortQueues
from mead.policies.two_level import TwoLevel, split_queues
from mead.simulator import run
from mead.testing.conformance import CHECKS
from mead.testing.readings import bursty, observed
from mead.values import (
    Allocation,
    Knowledge,
    Observation,
    Operator,
    OperatorReading,
    Pipeline,
    Plan,
    Requirement,
    Resources,
)
from mead.workload import Trace

if TYPE_CHECKING:
    from collections.abc import Callable

MATCHER = Operator("matcher", demand_s=0.002, shares=(0.5, 1.0), max_replicas=8)
ONE = Pipeline("one", [MATCHER])
PLANNED = Allocation.of(matcher=Resources(0.5, 2))


@dataclass
class Planner:
    """A slow policy with one answer, which remembers what it was shown."""

    answer: Allocation = PLANNED
    name: str = "planner"
    interval_s: float = 30.0
    shown: list[Observation] = field(default_factory=list)

    def analyze(self, observation: Observation, knowledge: Knowledge) -> None:
        del knowledge
        self.shown.append(observation)

    def plan(self, observation: Observation, analysis: None, knowledge: Knowledge) -> Plan:
        del observation, analysis, knowledge
        return Plan.keep(self.answer, "that is the answer")


def look(time_s: float, backlog: int, allocation: Allocation = PLANNED) -> Observation:
    seen = observed(ONE, allocation=allocation, time_s=time_s, backlog=backlog)
    return replace(seen, interval_s=1.0)


def controlled(two: TwoLevel, backlogs: list[int]) -> list[Plan]:
    """One plan a second, each in force in the next."""
    plans, now = [], PLANNED
    for second, backlog in enumerate(backlogs, start=1):
        plans.append(decide(two, look(float(second), backlog, now), Knowledge(ONE)))
        now = plans[-1].allocation
    return plans


def test_what_waits_too_long_is_split_over_more_tasks_for_as_long_as_it_does() -> None:
    planner = Planner()
    plans = controlled(TwoLevel(planner), [100] * 30 + [1300, 700, 100])
    assert [plan.allocation["matcher"].replicas for plan in plans[-4:]] == [2, 6, 3, 2]
    assert {plan.allocation["matcher"].share for plan in plans} == {0.5}
    assert str(plans[-3].reason) == (
        "Raise matcher from 2 to 6 replicas: 1300 tuples wait at matcher; planned is matcher 2 x 0.5."
    )
    assert plans[-1].reason.facts == (ShortQueues(PLANNED),)


def test_the_slow_policy_sees_its_own_interval_and_its_own_allocation() -> None:
    planner = Planner()
    controlled(TwoLevel(planner), [1300] * 60)
    assert [one.time_s for one in planner.shown] == [30.0, 60.0]
    assert [one.interval_s for one in planner.shown] == [30.0, 30.0]
    assert planner.shown[1].allocation == PLANNED, "not the tasks that were added on top"
    assert planner.shown[1].operators["matcher"].arrived == 30 * look(1.0, 0).operators["matcher"].arrived


def test_before_the_first_turn_tasks_are_added_to_what_a_run_has_started_with() -> None:
    planner = Planner()
    plans = controlled(TwoLevel(planner), [1300, 100, 1300] + [700] * 27)
    assert [plan.allocation["matcher"].replicas for plan in plans[:3]] == [6, 2, 6]
    assert planner.shown[0].allocation == PLANNED, "not the tasks that were added on top"


@pytest.mark.parametrize("delay", [1, 3])
def test_an_order_that_is_on_its_way_is_not_taken_for_that_of_somebody_else(delay: int) -> None:
    """Replicas that come seconds after they were ordered: what is in force is an earlier order of ours."""
    planner = Planner()
    two, in_force = TwoLevel(planner), [PLANNED] * (1 + delay)
    for second in range(1, 61):
        waiting = 1300 if second % 4 < 2 else 700
        in_force.append(decide(two, look(float(second), waiting, in_force[-1 - delay]), Knowledge(ONE)).allocation)
    assert [one.allocation for one in planner.shown] == [PLANNED, PLANNED]


def test_what_somebody_else_has_set_is_what_the_slow_policy_sees() -> None:
    planner, other = Planner(), Allocation.of(matcher=Resources(1.0, 5))
    two = TwoLevel(planner)
    for second in range(1, 61):
        decide(two, look(float(second), 0, other), Knowledge(ONE))
    assert planner.shown[1].allocation == other


def test_between_two_turns_broken_readings_keep_what_is_in_force() -> None:
    two = TwoLevel(Planner())
    controlled(two, [1300] * 31)
    now = Allocation.of(matcher=Resources(0.5, 6))
    silent = {"matcher": OperatorReading(arrived=0, completed=0, backlog=0, busy_s=0.0)}
    plan = decide(two, replace(look(32.0, 0, now), operators=silent), Knowledge(ONE))
    assert plan.allocation == now
    assert plan.reason.facts == (Remark.NO_TRAFFIC,)


@given(backlog=st.integers(0, 10**6), more=st.integers(0, 10**6), planned=st.integers(1, 8))
def test_tasks_stay_between_the_plan_and_the_most_and_rise_with_what_waits(
    backlog: int, more: int, planned: int
) -> None:
    base = Allocation.of(matcher=Resources(0.5, planned))
    fewer, many = (split_queues(base, look(1.0, waiting), ONE)["matcher"] for waiting in (backlog, backlog + more))
    assert planned <= fewer.replicas <= many.replicas <= MATCHER.max_replicas
    assert fewer.share == many.share == 0.5


@pytest.mark.parametrize("name", ["static", "threshold", "replay", "ds2", "pasps"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_policy_on_two_levels_conforms_as_on_one(name: str, check: Callable[[Any], None]) -> None:
    options = options_class(name).model_validate({"name": name, "interval_s": 5.0, "two_level": True})
    check(lambda: make_policy(options))


def test_a_policy_that_restarts_with_every_change_is_refused_on_two_levels() -> None:
    with pytest.raises(ValidationError, match="every split would restart the pipeline"):
        options_class("dabs").model_validate({"name": "dabs", "two_level": True})


def test_bursts_are_over_sooner_on_two_levels() -> None:
    trace, means_s = Trace.from_iats_s(bursty()), []
    pipeline = replace(ONE, requirements=(Requirement("matcher", bound_s=0.1),))
    for two_level in (False, True):
        options = StaticOptions(share=1.0, replicas=1, two_level=two_level)
        this = run(pipeline, trace, make_policy(options), seed=1)
        means_s.append(float(np.mean(this.simulation.responses("matcher").response_s)))
    assert means_s[1] < 0.7 * means_s[0]
