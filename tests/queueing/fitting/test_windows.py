"""Several windows of one buffer."""

from __future__ import annotations

import numpy as np
import pytest

from mead.arrays import FloatArray
from mead.queueing import DEFAULT_WINDOWS, MAP, WindowFit, fit_calibrated, fit_kpc, fit_windows


@pytest.fixture(scope="module")
def buffer() -> FloatArray:
    """Calm first and then bursty, so that a short window differs from a long one, but with no jump of the rate."""
    rng = np.random.default_rng(1)
    return np.concatenate([MAP.poisson(100.0).sample(6_000, rng), MAP.two_state(100.0, idc=30.0).sample(4_000, rng)])


def same(one: WindowFit, other: WindowFit) -> bool:
    return (one.size, one.used, one.note, len(one.models)) == (
        other.size,
        other.used,
        other.note,
        len(other.models),
    ) and all(
        np.array_equal(a.map.D0, b.map.D0) and np.array_equal(a.map.D1, b.map.D1) and a.score == b.score
        for a, b in zip(one.models, other.models, strict=True)
    )


def test_every_window_is_the_end_of_the_buffer(buffer: FloatArray) -> None:
    long, short = fit_windows(buffer, (8_000, 3_000), best=2)
    assert same(long, fit_calibrated(buffer[2_000:], best=2))
    assert same(short, fit_calibrated(buffer[7_000:], best=2))
    assert not same(long, short)


def test_kpc_is_fitted_when_asked_for(buffer: FloatArray) -> None:
    (fit,) = fit_windows(buffer, [4_000], fitter="kpc", best=2, seed=5)
    assert same(fit, fit_kpc(buffer[-4_000:], best=2, rng=np.random.default_rng(5)))
    assert fit.models[0].family.startswith("KPC")


def test_models_of_a_window_do_not_depend_on_the_other_windows(buffer: FloatArray) -> None:
    assert same(
        fit_windows(buffer, [4_000, 2_500], fitter="kpc", best=1, seed=3)[1],
        fit_windows(buffer, [2_500], fitter="kpc", best=1, seed=3)[0],
    )


def test_short_buffer_is_used_whole_once_and_says_so(buffer: FloatArray) -> None:
    (fit,) = fit_windows(buffer[-3_000:], best=1)
    assert fit.size == 3_000
    assert f"only 3000 of the {DEFAULT_WINDOWS[0]} IATs" in fit.note
    assert fit.models


def test_no_window_is_fitted_twice(buffer: FloatArray) -> None:
    assert [fit.size for fit in fit_windows(buffer[-600:], (700, 500, 600, 500), best=1)] == [600, 500]


def test_note_of_the_fitter_is_kept_behind_that_of_the_size() -> None:
    (fit,) = fit_windows(np.full(10, 0.5), [20])
    assert fit.note.startswith("only 10 of the 20")
    assert "too few" in fit.note


def test_empty_buffer_is_a_result_that_says_so() -> None:
    (fit,) = fit_windows(np.empty(0), [10])
    assert fit.models == ()
    assert "nothing to fit" in fit.note


@pytest.mark.parametrize("sizes", [(), (100, 0), (-1,)])
def test_windows_without_iats_are_refused(sizes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="at least one IAT"):
        fit_windows(np.ones(10), sizes)
