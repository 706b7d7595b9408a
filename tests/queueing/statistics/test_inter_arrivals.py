from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mead.arrays import FloatArray
from mead.queueing import MAP, acf, idc, lags_of, scv, spans_of
from mead.queueing.statistics.inter_arrivals import EDGE, STEPS_PER_SPAN, round_numbers

windows = st.integers(4, 200).flatmap(lambda n: arrays(np.float64, n, elements=st.floats(1e-6, 1e3)))


def test_scv_of_known_windows() -> None:
    assert scv(np.full(10, 0.3)) == pytest.approx(0.0, abs=1e-30)
    assert scv(np.zeros(5)) == 0.0
    assert scv(np.array([0.0, 2.0])) == 1.0


@given(windows, st.floats(1e-6, 1e6))
def test_nothing_but_dispersion_depends_on_the_unit_of_time(window: FloatArray, unit: float) -> None:
    assert scv(window * unit) == pytest.approx(scv(window), abs=1e-12)
    assert acf(window * unit, [1, 2]) == pytest.approx(acf(window, [1, 2]), abs=1e-6)


@given(windows, st.integers(1, 3))
def test_correlation_is_the_biased_estimator(window: FloatArray, lag: int) -> None:
    centred = window - window.mean()
    total = float((centred**2).sum())
    expected = float((centred[lag:] * centred[:-lag]).sum()) / total if total > 1e-20 * window.sum() ** 2 else None
    if expected is not None:
        assert acf(window, [lag])[0] == pytest.approx(expected, abs=1e-8)


def test_correlation_at_lag_zero_is_one_and_lags_come_in_any_order() -> None:
    window = np.random.default_rng(1).random(100)
    one, two, zero = acf(window, [1, 2, 0])
    assert zero == pytest.approx(1.0)
    assert acf(window, [2, 1]).tolist() == pytest.approx([two, one])


@pytest.mark.parametrize("iat", [0.0, 0.5, 0.1, 1e-6, 1e3])
def test_constant_windows_have_no_correlation(iat: float) -> None:
    # The mean of ten times 0.1 is not 0.1; what is left after centring must not count as a pattern.
    for size in (3, 10, 49, 1_000):
        assert acf(np.full(size, iat), [1, 2]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("lags", [[100], [1, 5_000], [-1]])
def test_a_lag_outside_the_window_is_refused(lags: list[int]) -> None:
    with pytest.raises(ValueError, match=r"lags must lie in \[0, 99\]"):
        acf(np.random.default_rng(1).random(100), lags)


@given(windows, st.floats(0.01, 0.5))
def test_dispersion_is_the_variance_of_overlapping_counts(window: FloatArray, fraction: float) -> None:
    arrivals = np.cumsum(window)
    end = arrivals[-1]
    t = fraction * end
    step = t / STEPS_PER_SPAN
    # Intervals (end - t - k step, end - k step], counted one by one; a nudge keeps rounding off the edges.
    starts = [end - t - k * step for k in range(int(end * (1 + EDGE) / step) - STEPS_PER_SPAN + 1)]
    edges = (end - arrivals) / step
    assume(np.abs(edges - np.rint(edges))[:-1].min(initial=1.0) > 2 * EDGE * end / step)
    counts = np.array(
        [((arrivals > start + 1e-12 * end) & (arrivals <= start + t + 1e-12 * end)).sum() for start in starts]
    )
    assert idc(window, t)[0] == pytest.approx(counts.var() / counts.mean(), rel=1e-9)


@given(windows, st.floats(1e-6, 1e6))
def test_dispersion_follows_the_unit_of_time(window: FloatArray, unit: float) -> None:
    t = window.sum() / 3
    assert np.isfinite(idc(window * unit, t * unit)).all()


def test_a_window_of_one_gap_and_a_batch_has_a_dispersion() -> None:
    # All arrivals come at the very end: 5 of them in one interval of length 1, none in the others.
    value = idc(np.array([5.0, 0.0, 0.0, 0.0, 0.0]), 1.0)[0]
    starts = 5 * STEPS_PER_SPAN - STEPS_PER_SPAN + 1
    assert value == pytest.approx(5 * (1 - 1 / starts))


@pytest.mark.parametrize("t", [0.0, -1.0, 6.0, [1.0, 5.1]])
def test_an_interval_must_fit_into_half_the_window(t: float) -> None:
    with pytest.raises(ValueError, match=r"t must lie in \(0, 5\], half the window"):
        idc(np.ones(10), t)


def test_sampled_and_exact_statistics_agree() -> None:
    # The same four words for a trace and a MAP must mean the same.
    process = MAP.two_state(100.0, 15.0)
    runs = [process.sample(200_000, np.random.default_rng(seed)) for seed in range(8)]
    measured = np.array([[scv(run), *acf(run, [1, 3]), *idc(run, [0.05, 0.5, 10.0])] for run in runs])
    exact = np.array([process.scv, *process.acf([1, 3]), *process.idc([0.05, 0.5, 10.0])])
    error = measured.std(axis=0, ddof=1) / np.sqrt(len(runs))
    assert (np.abs(measured.mean(axis=0) - exact) < 4 * error).all()
    assert (error < 0.05 * exact).all()


def test_poisson_arrivals_have_dispersion_one_and_regular_ones_none() -> None:
    poisson = np.random.default_rng(1).standard_exponential(400_000)
    assert idc(poisson, [1.0, 10.0]) == pytest.approx([1.0, 1.0], abs=0.03)
    assert idc(np.ones(10_000), [100.0])[0] < 0.01


def test_arrivals_on_the_edge_of_an_interval_are_counted_as_in_whole_numbers() -> None:
    # Sums of floats wander off the edges; whole microseconds do not.
    stamps_us = np.cumsum(np.random.default_rng(1).integers(1, 4, 100_000) * 1_000)
    span_us = 20_000
    ages_us = stamps_us[-1] - stamps_us[1:]
    counts = np.bincount(ages_us // span_us)[: (stamps_us[-1] - stamps_us[0]) // span_us]
    assert idc(np.diff(stamps_us) / 1e6, span_us / 1e6)[0] == pytest.approx(counts.var() / counts.mean(), rel=1e-12)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (2.0, 1.0), (3.0, 4.0)])
def test_there_may_be_no_round_number(low: float, high: float) -> None:
    assert round_numbers(low, high) == []


def test_little_data_has_few_scales() -> None:
    assert [lags_of(iats) for iats in (0, 1, 2, 20)] == [[], [], [1], [1, 2]]
    assert lags_of(10**9)[-1] == 10_000
    assert spans_of(0, 0.0) == spans_of(100, 0.0) == spans_of(100, 1.0) == []
    assert spans_of(1_000, 100.0) == [1.0, 2.0]
