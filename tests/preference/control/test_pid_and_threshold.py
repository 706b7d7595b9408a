from __future__ import annotations

import json
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.preference.control.pid import PID, PIDState
from mead.preference.control.threshold import Sizes, Threshold, splitting_pid

MEASURED = (1.5, 1.2, 0.95, 0.9, 0.7, 0.7, 0.88, 3.0, 3.0)
CHANGES = (0.3, -0.06, -0.3, -0.1, -0.3, -0.3, 0.3, 0.3, 0.3)
ALPHAS = (1.3, 1.24, 0.94, 0.84, 0.54, 0.24, 0.54, 0.84, 1.14)


def test_the_published_gains_give_the_steps_of_the_vector() -> None:
    state, changes = PIDState(), []
    for measured in MEASURED:
        change, state = splitting_pid(0.9).step(state, measured)
        changes.append(change)
    assert changes == pytest.approx(CHANGES)


def test_alpha_follows_the_vector() -> None:
    threshold, alphas = Threshold(splitting_pid(0.9)), []
    for measured in MEASURED:
        threshold = threshold.after_sample(measured)
        alphas.append(threshold.alpha)
    assert alphas == pytest.approx(ALPHAS)


@given(st.lists(st.floats(0.0, 1e3), max_size=200))
def test_alpha_stays_within_its_limits(measured: list[float]) -> None:
    threshold = Threshold()
    for value in measured:
        threshold = threshold.after_sample(value)
        assert 0.1 <= threshold.alpha <= 20


def test_the_published_law_does_not_see_a_cycle_of_two_periods() -> None:
    """Above the set-point on average, and alpha stays: each way the derivative takes the step to its limit.

    More workers change nothing about that, since the splitting decides. So the outer level goes on adding them.
    """
    threshold = Threshold(splitting_pid(0.9)).after_sample(0.95).after_sample(1.25)
    before = threshold.alpha
    for _ in range(20):
        threshold = threshold.after_sample(0.95).after_sample(1.25)
    assert threshold.alpha == pytest.approx(before)


def test_the_integral_cannot_wind_up() -> None:
    pid, state = PID(0.0, proportional=0.0, integral=0.5, limit=1.0), PIDState()
    for _ in range(100):
        _, state = pid.step(state, 1.0)
    output, _ = pid.step(state, -1.0)
    assert output == 0.5  # from the limit, not from 50


@given(st.lists(st.floats(1.0, 1e6), min_size=1, max_size=50))
def test_sizes_have_the_mean_and_spread_of_the_definition(values: list[float]) -> None:
    sizes = Sizes()
    for value in values:
        sizes = sizes.add(value)
    mean = sum(values) / len(values)
    spread = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    assert sizes.mean == pytest.approx(mean)
    assert sizes.std == pytest.approx(spread, abs=1e-6 * mean)


def test_nothing_is_split_before_pane_five_is_closed() -> None:
    threshold = Threshold().after_closing([10.0, 30.0, 0.0])
    assert threshold.after_punctuation(5).tuples == inf
    assert threshold.after_punctuation(6).tuples == 30.0
    assert threshold.after_punctuation(6).after_punctuation(2).tuples == 30.0
    assert Threshold().after_punctuation(6).tuples == inf


def test_a_measurement_that_is_none_changes_nothing() -> None:
    threshold = Threshold().after_sample(1.0)
    assert threshold.after_sample(nan) == threshold
    assert Threshold(pid=None).after_sample(5.0).alpha == 1.0


def test_it_can_be_saved() -> None:
    threshold = Threshold().after_closing([4.0, 5.0]).after_sample(1.2).after_punctuation(9)
    assert Threshold.from_json(json.loads(json.dumps(threshold.as_json()))) == threshold
