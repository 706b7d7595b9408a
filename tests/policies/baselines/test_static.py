from __future__ import annotations

from typing import TYPE_CHECKING

from mead.policies.baselines.static import Static, StaticOptions
from mead.values import Knowledge

if TYPE_CHECKING:
    from tests.policies.conftest import Describer, Observer


def test_every_operator_gets_the_share_that_was_asked_for(log_analysis: Describer, observed: Observer) -> None:
    pipeline = log_analysis(shares=(0.5, 1.0))
    policy, observation = Static(StaticOptions(share=0.7)), observed(pipeline)
    plan = policy.plan(observation, policy.analyze(observation, Knowledge(pipeline)), Knowledge(pipeline))
    assert {name: r.share for name, r in plan.allocation.items()} == {"parser": 0.7, "counter": 0.7, "matcher": 1.0}
    assert plan.reason == "parser 1 -> 0.7, counter 1 -> 0.7, because a share of 0.7 is fixed"


def test_without_a_share_everything_stays_at_its_highest(log_analysis: Describer, observed: Observer) -> None:
    pipeline = log_analysis(max_replicas=3)
    policy, observation = Static(StaticOptions()), observed(pipeline)
    plan = policy.plan(observation, policy.analyze(observation, Knowledge(pipeline)), Knowledge(pipeline))
    assert plan.allocation == pipeline.most
    assert plan.reason == "keep, because the highest levels are fixed: parser 1, counter 1, matcher 3 x 1"


def test_every_operator_gets_the_replicas_that_were_asked_for_if_it_may_have_them(
    log_analysis: Describer, observed: Observer
) -> None:
    pipeline = log_analysis(max_replicas=8)
    policy, observation = Static(StaticOptions(replicas=4)), observed(pipeline)
    plan = policy.plan(observation, policy.analyze(observation, Knowledge(pipeline)), Knowledge(pipeline))
    assert {name: r.replicas for name, r in plan.allocation.items()} == {"parser": 1, "counter": 1, "matcher": 4}
    assert plan.reason == "matcher 8 x 1 -> 4 x 1, because the highest levels are fixed on 4 replicas"
