from __future__ import annotations

import numpy as np
import pytest

from mead.queueing import Window, WindowFit, prepare
from mead.queueing.fitting.window import ENOUGH

RNG = np.random.default_rng(4)


def test_an_ordinary_window_is_used_whole_at_mean_one() -> None:
    iats = RNG.exponential(0.02, 1000)
    window = prepare(iats)
    assert isinstance(window, Window)
    assert (window.unit.size, window.note) == (1000, "")
    assert window.unit.mean() == pytest.approx(1.0)
    assert window.rate_per_s == pytest.approx(1 / iats.mean())


@pytest.mark.parametrize("iats", [[], [1.0], [0.0, 0.0, 0.0], [np.nan, np.inf, -1.0]])
def test_nothing_to_fit_is_said_so(iats: list[float]) -> None:
    answer = prepare(np.array(iats, dtype=np.float64))
    assert isinstance(answer, WindowFit)
    assert answer.models == ()
    assert "nothing to fit" in answer.note


def test_few_iats_become_a_poisson_model_that_says_why() -> None:
    answer = prepare(RNG.exponential(0.5, ENOUGH - 1))
    assert isinstance(answer, WindowFit)
    assert answer.models[0].map.states == 1
    assert "too few" in answer.note


def test_values_that_are_no_times_are_left_out_and_counted() -> None:
    window = prepare(np.concatenate([RNG.exponential(1.0, 500), [np.nan, -1.0, np.inf]]))
    assert isinstance(window, Window)
    assert (window.size, window.unit.size) == (503, 500)
    assert "3 IATs" in window.note


def test_what_follows_a_long_silence_is_used() -> None:
    window = prepare(np.concatenate([RNG.exponential(1.0, 600), [1e4], RNG.exponential(1.0, 400)]))
    assert isinstance(window, Window)
    assert window.unit.size == 400
    assert "silence of 1e+04 s" in window.note


def test_what_precedes_a_silence_is_used_where_too_little_follows() -> None:
    window = prepare(np.concatenate([RNG.exponential(1.0, 600), [1e4], RNG.exponential(1.0, 20)]))
    assert isinstance(window, Window)
    assert window.unit.size == 600


def test_a_jump_of_the_rate_cuts_the_window_close_to_where_it_happened() -> None:
    window = prepare(np.concatenate([RNG.exponential(1.0, 3000), RNG.exponential(1 / 3, 3000)]))
    assert isinstance(window, Window)
    assert abs(window.unit.size - 3000) < 100
    assert window.rate_per_s == pytest.approx(3.0, rel=0.1)
