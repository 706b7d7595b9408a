from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mead.policies import decide
from mead.policies.baselines.threshold import Threshold, ThresholdOptions
from mead.policies.reasons import Utilizations
from mead.values import Allocation, Cause, Knowledge, Observation, Operator, Pipeline, Plan, Resources

if TYPE_CHECKING:
    from tests.policies.conftest import Observer

ONE = Pipeline("one", [Operator("matcher", 0.0015, max_replicas=2)])


def planned(observation: Observation, policy: Threshold | None = None) -> Plan:
    policy, knowledge = policy or Threshold(ThresholdOptions()), Knowledge(ONE)
    return decide(policy, observation, knowledge)


@pytest.mark.parametrize(
    ("utilization", "now", "then"),
    [
        (0.71, Resources(0.55), Resources(0.7)),
        (0.69, Resources(0.55), Resources(0.55)),
        (0.51, Resources(0.55), Resources(0.55)),
        (0.49, Resources(0.55), Resources(0.4)),
        (0.49, Resources(0.4), Resources(0.4)),
        (0.99, Resources(1.0), Resources(1.0, 2)),
        (0.99, Resources(1.0, 2), Resources(1.0, 2)),
        (0.10, Resources(1.0, 2), Resources(1.0)),
    ],
)
def test_one_level_at_a_time_first_the_share_and_then_replicas(
    observed: Observer, utilization: float, now: Resources, then: Resources
) -> None:
    plan = planned(observed(ONE, allocation=Allocation.of(matcher=now), utilization=utilization))
    assert plan.allocation["matcher"] == then
    assert f"matcher {utilization:.2f} (raised above 0.7, lowered below 0.5)" in str(plan.reason)


def test_busy_time_is_measured_against_the_cores_of_the_interval(observed: Observer) -> None:
    observation = observed(ONE, allocation=Allocation.of(matcher=Resources(0.4, 2)), utilization=0.6)
    assert observation.operators["matcher"].busy_s == pytest.approx(0.6 * 0.8 * 60)
    analysis = Threshold(ThresholdOptions()).analyze(observation, Knowledge(ONE))
    assert isinstance(analysis, Utilizations)
    assert dict(analysis.by_operator) == {"matcher": pytest.approx(0.6)}


def test_after_a_change_nothing_falls_for_the_hold_down_time(observed: Observer) -> None:
    policy = Threshold(ThresholdOptions(hold_down_s=100.0))
    low, high = Allocation.of(matcher=Resources(0.4)), Allocation.of(matcher=Resources(0.55))
    assert planned(observed(ONE, allocation=low, utilization=0.9, time_s=60.0), policy).allocation == high
    held = planned(observed(ONE, allocation=high, utilization=0.1, time_s=120.0), policy)
    assert held.allocation == high
    assert held.target == low
    assert (held.reason.cause, held.reason.target) == (Cause.RULES, low)
    assert str(held.reason).startswith(
        "Keep the allocation (target matcher 0.4; the planning rules allow less), because"
    )
    assert planned(observed(ONE, allocation=high, utilization=0.1, time_s=180.0), policy).allocation == low


def test_advice_that_nobody_follows_is_no_change(observed: Observer) -> None:
    policy = Threshold(ThresholdOptions(hold_down_s=100.0))
    high, lower = Allocation.of(matcher=Resources(1.0)), Allocation.of(matcher=Resources(0.85))
    for time_s in (60.0, 120.0, 180.0):
        assert planned(observed(ONE, allocation=high, utilization=0.1, time_s=time_s), policy).allocation == lower
