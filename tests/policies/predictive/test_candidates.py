"""What the adaptive policy weighs: levels beside the chosen one, and what they would cost more."""

from __future__ import annotations

import numpy as np

from mead.policies import decide
from mead.policies.adaptive.model_error import TOLERATED
from mead.policies.adaptive.policy import Adaptive, AdaptiveOptions
from mead.policies.reasons import Exceeded
from mead.queueing import MAP
from mead.simulator import run
from mead.values import Knowledge, Operator, Pipeline, Requirement
from mead.workload import Trace

PIPELINE = Pipeline("one", [Operator("matcher", 0.0018)], requirements=[Requirement("matcher", 2.0)])


def test_no_neighbour_of_what_the_rule_chose_is_cheaper() -> None:
    iats_s = MAP.two_state(rate_per_s=300.0, idc=200.0).sample(18_000, np.random.default_rng(1))
    chosen = Adaptive(AdaptiveOptions())
    result = run(PIPELINE, Trace.from_iats_s(iats_s), chosen, seed=1)
    plans = [this.plan for this in result.rounds if this.plan and this.plan.grounds.candidates]
    assert len(plans) > 40
    levels = PIPELINE.operator("matcher").levels
    for plan in plans:
        weighed = {one.allocation["matcher"]: one.extra_cost for one in plan.grounds.candidates}
        assert weighed[plan.allocation["matcher"]] == 0.0
        assert all(cost is not None and cost > -1e-6 for cost in weighed.values())
        place = levels.index(plan.allocation["matcher"])
        assert list(weighed) == list(levels[max(place - 1, 0) : place + 2])
        assert "of the cores that its path needs" in plan.grounds.models[0]


def test_caution_is_what_targets_are_divided_by_and_the_reason_says_so() -> None:
    iats_s = MAP.two_state(rate_per_s=300.0, idc=200.0).sample(6_000, np.random.default_rng(1))
    chosen = Adaptive(AdaptiveOptions())
    (requirement,) = PIPELINE.requirements
    rounds = run(PIPELINE, Trace.from_iats_s(iats_s), chosen, seed=1).rounds
    for this in rounds:
        assert this.plan is not None
        exceeded = any(isinstance(fact, Exceeded) for fact in this.plan.reason.facts)
        assert exceeded == (this.plan.grounds.caution > 1)
        assert this.plan.grounds.caution == 1 or this.plan.grounds.caution > TOLERATED
    last = rounds[-1].observation
    assert last is not None
    for ratio, caution in ((2.0, 2.0), (1.1, 1.0)):
        chosen.error.ratios[requirement] = ratio
        plan = decide(chosen, last, Knowledge(PIPELINE))
        assert plan.grounds.caution == caution
        assert (Exceeded(2.0) in plan.reason.facts) == (caution == 2.0)
