"""Replicas that are held ready for a jump: what a jump does, and how few of them survive it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mead.policies.adaptive.account import MARGIN_PERCENTILE
from mead.policies.adaptive.pricing import FOLLOWED_S, Surge, ready_replicas
from mead.values import COUNT_BIN_S, WINDOW_S, Operator, Requirement

MATCHER = Operator("matcher", 0.004, shares=(0.4, 0.7, 1.0), max_replicas=6)
P99 = Requirement("matcher", 1.0, 99)
JUMP = Surge(rate_per_s=700.0, noticed_s=1.0, late_s=2.0)  # 2.8 cores of work


def by_tuples(jump: Surge, operator: Operator, replicas: int) -> list[list[float]]:
    """By bin, when each tuple of a jump begins to be served, after it came; one after the other, in small steps."""
    step_s, time_s, done = 1e-3, 0.0, 0.0
    waits: list[list[float]] = [[] for _ in range(round((jump.noticed_s + jump.late_s + FOLLOWED_S) / COUNT_BIN_S))]
    arrivals_s = np.arange(0.5, len(waits) * COUNT_BIN_S * jump.rate_per_s) / jump.rate_per_s
    for arrival_s in arrivals_s:
        if time_s < arrival_s:
            time_s, done = arrival_s, 0.0
        while done < operator.demand_s:
            share = operator.shares[0] if time_s < jump.noticed_s else operator.shares[-1]
            there = replicas if time_s < jump.noticed_s + jump.late_s else operator.max_replicas
            done += share * there * step_s
            time_s += step_s
        done -= operator.demand_s
        waits[min(int(arrival_s / COUNT_BIN_S), len(waits) - 1)].append(time_s - arrival_s)
    return waits


@pytest.mark.parametrize("replicas", [1, 2, 4])
@pytest.mark.parametrize("late_s", [2.0, 5.0])
def test_a_jump_makes_tuples_wait_as_a_queue_that_serves_them_one_by_one(replicas: int, late_s: float) -> None:
    jump = replace(JUMP, late_s=late_s)
    found = jump.response_s(MATCHER, replicas) - MATCHER.demand_s
    exact = [float(np.mean(waits)) for waits in by_tuples(jump, MATCHER, replicas)]
    assert found == pytest.approx(np.array(exact), abs=0.4 * COUNT_BIN_S, rel=0.02)  # a bin has the wait of its middle


JUMPS = st.builds(
    Surge, rate_per_s=st.floats(100.0, 1400.0), noticed_s=st.sampled_from([0.5, 1.0]), late_s=st.floats(0.5, 8.0)
)
ASKED = st.sampled_from([Requirement("matcher", 0.3), Requirement("matcher", 0.5, 95), P99])


@settings(max_examples=60)
@given(jump=JUMPS, asked=ASKED, usual=st.floats(1.0, 500.0), elsewhere_s=st.floats(0.0, 0.2))
def test_they_are_the_fewest_that_survive(jump: Surge, asked: Requirement, usual: float, elsewhere_s: float) -> None:
    spent = {asked: elsewhere_s}
    ready = ready_replicas(jump, MATCHER, spent, usual)
    survived = [k for k in range(1, 6) if jump.survived(MATCHER, k, spent, usual)]
    assert ready == (survived[0] if survived else 6)


@settings(max_examples=60)
@given(jump=JUMPS, asked=ASKED, usual=st.floats(1.0, 500.0), more=st.floats(1.0, 2.0))
def test_a_worse_jump_or_a_longer_wait_needs_no_fewer(
    jump: Surge, asked: Requirement, usual: float, more: float
) -> None:
    ready = ready_replicas(jump, MATCHER, {asked: 0.0}, usual)
    for worse in (replace(jump, late_s=jump.late_s * more), replace(jump, noticed_s=jump.noticed_s * more)):
        assert ready_replicas(worse, MATCHER, {asked: 0.0}, usual) >= ready


def test_what_survives_is_what_the_allowance_of_a_window_says() -> None:
    late = sum(len([w for w in waits if w + MATCHER.demand_s > 1.0]) for waits in by_tuples(JUMP, MATCHER, 2))
    came = JUMP.rate_per_s * (JUMP.noticed_s + JUMP.late_s + FOLLOWED_S)
    # So many may come otherwise that the late ones are just the planned part of a hundredth of all.
    enough = (late / (0.01 * MARGIN_PERCENTILE) - came) / WINDOW_S
    assert late > 500
    assert not JUMP.survived(MATCHER, 2, {P99: 0.0}, 0.9 * enough)
    assert JUMP.survived(MATCHER, 2, {P99: 0.0}, 1.1 * enough)


def test_a_p99_needs_more_of_them_than_a_mean() -> None:
    mean, late = (ready_replicas(JUMP, MATCHER, {asked: 0.0}, 310.0) for asked in (Requirement("matcher", 0.3), P99))
    assert 1 <= mean < late == 3


def test_where_nothing_is_required_none_is_held_beyond_the_least() -> None:
    assert ready_replicas(JUMP, MATCHER, {}, 310.0) == 1
    assert ready_replicas(JUMP, replace(MATCHER, min_replicas=2), {}, 310.0) == 2
