from __future__ import annotations

from typing import TYPE_CHECKING

from mead.policies import decide
from mead.policies.baselines.static import Static, StaticOptions
from mead.policies.reasons import Fixed
from mead.values import Cause, Knowledge, Move, Reason

if TYPE_CHECKING:
    from tests.policies.conftest import Describer, Observer


def test_every_operator_gets_the_share_that_was_asked_for(log_analysis: Describer, observed: Observer) -> None:
    pipeline = log_analysis(shares=(0.5, 1.0))
    policy, observation = Static(StaticOptions(share=0.7)), observed(pipeline)
    plan = decide(policy, observation, Knowledge(pipeline))
    assert {name: r.share for name, r in plan.allocation.items()} == {"parser": 0.7, "counter": 0.7, "matcher": 1.0}
    assert str(plan.reason) == (
        "Lower parser from 1.0 to 0.7 cores and counter from 1.0 to 0.7 cores: a share of 0.7 cores is fixed."
    )


def test_without_a_share_everything_stays_at_its_highest(log_analysis: Describer, observed: Observer) -> None:
    pipeline = log_analysis(max_replicas=3)
    policy, observation = Static(StaticOptions()), observed(pipeline)
    plan = decide(policy, observation, Knowledge(pipeline))
    assert plan.allocation == pipeline.most
    assert str(plan.reason) == "Keep the allocation, because the highest levels are fixed."


def test_every_operator_gets_the_replicas_that_were_asked_for_if_it_may_have_them(
    log_analysis: Describer, observed: Observer
) -> None:
    pipeline = log_analysis(max_replicas=8)
    policy, observation = Static(StaticOptions(replicas=4)), observed(pipeline)
    plan = decide(policy, observation, Knowledge(pipeline))
    assert {name: r.replicas for name, r in plan.allocation.items()} == {"parser": 1, "counter": 1, "matcher": 4}
    assert plan.reason == Reason(Cause.FIXED, (Fixed(None, 4),), Move(pipeline.most, plan.allocation))
