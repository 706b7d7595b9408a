"""Both knobs at once: a load that shares alone cannot carry, and one on which replicas alone waste cores."""

from __future__ import annotations

from functools import cache

import pytest
from experiments.arena.contest import Score
from experiments.arena.hybrid_loads import HEAVY_CORES, LIGHT_CORES, load_bouts
from experiments.workloads import required

pytestmark = pytest.mark.slow

MINUTES = 8
"""Four swings of the light load; DRS with T_ra of a minute has let go of what it began with."""


@cache
def judged(load: str, policy: str) -> Score:
    bouts = load_bouts(required("p95=0.5"), seeds=[1], duration_s=60.0 * MINUTES, delay_s=0.0)
    (one,) = (bout for bout in bouts if (bout.contest.name, bout.policy.label) == (load, policy))
    (verdict,) = one.scores()
    return verdict


@pytest.mark.parametrize("policy", ["pasps", "drs@t_ra_s=60"])
def test_replicas_alone_pay_for_a_whole_core_on_a_light_load(policy: str) -> None:
    alone = judged("light", policy)
    assert alone.met
    assert alone.cores >= 1.0


def test_both_knobs_need_little_more_than_the_light_load_itself() -> None:
    both = judged("light", "hybrid")
    assert both.met
    assert LIGHT_CORES < both.cores < 0.6


def test_shares_alone_cannot_carry_the_heavy_load_and_both_knobs_can() -> None:
    share, both = judged("heavy", "adaptive"), judged("heavy", "hybrid")
    assert share.replicas == 1.0
    assert share.cores > 0.99, "it gives all that it has"
    assert not share.met
    assert share.response_s > 100 * share.bound_s, "and falls behind all the time"
    assert both.met
    assert HEAVY_CORES < both.cores < 3.0
    assert both.replicas > 1.0
