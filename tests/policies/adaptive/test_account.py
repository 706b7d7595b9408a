from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.policies.adaptive.account import LONG_S, MARGIN_MEAN, MARGIN_PERCENTILE, Account, usage
from mead.values import WINDOW_S, PathReading, Requirement

MEAN = Requirement("a>b", bound_s=0.5)
LATE = Requirement("a>b", bound_s=0.5, percent=90)


def account(requirement: Requirement, *entries: tuple[float, int, float, int]) -> Account:
    """Of entries of time, tuples, seconds and late ones."""
    kept = Account(requirement)
    for time_s, completed, response_sum_s, late in entries:
        kept.add(time_s, PathReading(completed, response_sum_s, late))
    return kept


@given(st.lists(st.floats(0.0, 2.0), min_size=1, max_size=50))
def test_an_allowance_is_used_up_on_average_exactly_where_a_requirement_is_broken(response_s: list[float]) -> None:
    times = np.array(response_s)
    assert (usage(MEAN, times).mean() > 1) == (times.mean() / 0.5 > 1)
    late = sum(time > 0.5 for time in response_s)
    assert usage(LATE, times).mean() == pytest.approx(late / (0.1 * times.size))


def test_readings_are_booked_as_response_times_would_be() -> None:
    response_s = np.array([0.1, 0.4, 0.6, 1.2])
    entry = (1.0, 4, float(response_s.sum()), 2)
    for requirement in (MEAN, LATE):
        tuples, used = account(requirement, entry).since(0.0)
        assert tuples == 4
        assert used == pytest.approx(usage(requirement, response_s).sum())


def test_only_what_came_after_a_time_counts() -> None:
    kept = account(MEAN, (1.0, 10, 5.0, 0), (2.0, 20, 5.0, 0), (3.0, 30, 30.0, 0))
    assert kept.since(1.0) == (50.0, 70.0)
    assert kept.since(2.5) == (30.0, 60.0)
    assert kept.since(3.0) == (0.0, 0.0)


def test_what_is_long_past_is_forgotten() -> None:
    kept = account(MEAN, (10.0, 1000, 9000.0, 0), (10.0 + LONG_S, 1, 0.1, 0))
    assert kept.since(-1.0) == (1.0, 0.2)


def test_tuples_inside_have_used_what_they_have_waited() -> None:
    # 100 tuples that came evenly at 50/s in the last 2 s: on average, each has waited 1 s, twice the bound.
    waited_s = np.arange(0.5, 100.0) / 50.0
    assert Account(MEAN).pending(100.0, 50.0) == pytest.approx(usage(MEAN, waited_s).sum())
    assert Account(LATE).pending(100.0, 50.0) == pytest.approx(usage(LATE, waited_s).sum())
    assert Account(LATE).pending(20.0, 50.0) == 0
    assert Account(MEAN).pending(20.0, 0.0) == 0


@given(
    mean=st.booleans(),
    used=st.floats(0.0, 20.0),
    tuples=st.integers(0, 100_000),
    waiting=st.floats(0.0, 1e4),
    rate_per_s=st.floats(0.0, 1e3),
)
def test_targets_stay_within_the_margin_and_never_vanish(
    *, mean: bool, used: float, tuples: int, waiting: float, rate_per_s: float
) -> None:
    requirement, margin = (MEAN, MARGIN_MEAN) if mean else (LATE, MARGIN_PERCENTILE)
    kept = account(requirement, (500.0, tuples, 0.5 * used * tuples, int(min(0.1 * used, 1) * tuples)))
    target = kept.target(600.0, waiting, rate_per_s)
    assert 0.1 * margin <= target * (1 + 1e-9)
    assert target <= margin


def test_a_window_that_used_little_leaves_all_that_the_margin_allows() -> None:
    kept = account(MEAN, (590.0, 30_000, 3_000.0, 0))
    assert kept.target(600.0, 0.0, 100.0) == MARGIN_MEAN


def test_what_a_window_has_used_too_much_of_is_saved_in_the_minute_ahead() -> None:
    # 0.9 units each: 1500 more than planned. The run as a whole is far better: it does not matter here.
    kept = account(MEAN, (200.0, 1_000_000, 1_000.0, 0), (590.0, 30_000, 13_500.0, 0))
    ahead = 60 * 100
    assert kept.target(600.0, 0.0, 100.0) == pytest.approx((0.85 * (30_000 + ahead) - 27_000) / ahead)
    # Once the window has passed, nothing is left to be saved.
    assert kept.target(590.0 + WINDOW_S, 0.0, 100.0) == MARGIN_MEAN


def test_a_run_that_has_used_up_its_allowance_leaves_little_for_long() -> None:
    kept = account(MEAN, (100.0, 100_000, 48_000.0, 0), (900.0, 1_000, 10.0, 0))  # 0.95 units each, long before
    assert kept.target(1000.0, 0.0, 100.0) == pytest.approx(0.1 * MARGIN_MEAN, rel=0.2)
    fresh = account(MEAN, (900.0, 1_000, 10.0, 0))
    assert fresh.target(1000.0, 0.0, 100.0) == MARGIN_MEAN
