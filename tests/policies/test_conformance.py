"""What every registered policy has to keep to: the checks that are there for everybody's, and what ours do beside."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mead.arrays import FloatArray
from mead.policies import Policy, make_policy, options_class, policy_names
from mead.testing.conformance import CHECKS, Maker, plan_once, run_shapes
from mead.testing.readings import MIDDLE
from mead.values import Cause

if TYPE_CHECKING:
    from tests.policies.conftest import Describer, Observer

EVERY = pytest.mark.parametrize("name", policy_names())
USES_ARRIVALS = pytest.mark.parametrize("name", ["mg1", "kingman", "mead", "map", "replay"])
UNBOUND = {"static", "adaptive", "hybrid", "drs", "pasps", "psps", "dabs"}
"""They lower as far as they see fit: one rule for both directions, or Algorithm 2 of PA-SPS."""


def made(name: str, **changes: Any) -> Policy:
    return make_policy(options_class(name)(**changes))


@EVERY
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_policy_conforms(name: str, check: Any) -> None:
    maker: Maker = lambda: made(name, interval_s=5.0)  # noqa: E731 - as a user would write it
    check(maker)


@EVERY
def test_every_policy_has_the_name_that_it_is_chosen_by(name: str) -> None:
    assert made(name).name == name


@USES_ARRIVALS
@pytest.mark.parametrize(
    "iats_s",
    [np.empty(0), np.zeros(1000), np.full(1000, np.nan), np.full(1000, -1.0), np.full(1000, np.inf), np.full(3, 0.01)],
    ids=["none", "all zero", "no numbers", "negative", "endless", "three"],
)
def test_arrivals_that_say_nothing_change_nothing(
    name: str, iats_s: FloatArray, log_analysis: Describer, observed: Observer
) -> None:
    pipeline = log_analysis()
    observation = replace(observed(pipeline, allocation=MIDDLE), iats_s=iats_s)
    plan = plan_once(made(name), observation, pipeline)
    assert plan.allocation == MIDDLE
    assert plan.reason.cause in {Cause.TOO_FEW, Cause.UNUSABLE}
    assert plan.reason.facts


@pytest.mark.parametrize("name", [name for name in policy_names() if name not in UNBOUND])
def test_nothing_falls_by_more_than_one_level_per_round(name: str) -> None:
    # Of every model the cheapest pipeline is enough: how far one falls is for the rules that they share to say.
    _, this = next(run_shapes(lambda: made(name, interval_s=5.0)))
    lowered = 0
    for turn in this.rounds:
        assert turn.plan is not None
        assert turn.observation is not None
        for operator in this.pipeline.operators:
            now, then = turn.observation.allocation[operator.name], turn.plan.allocation[operator.name]
            assert operator.shares.index(then.share) >= operator.shares.index(now.share) - 1
            assert then.replicas >= now.replicas - 1
            lowered += then.cores < now.cores
    assert lowered, "nothing fell at all"
