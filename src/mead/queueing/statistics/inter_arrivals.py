"""Statistics of inter-arrival times: rate, variability, correlation, dispersion."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor, log10

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft

from mead.arrays import FloatArray, IntArray

STEPS_PER_SPAN = 8
"""Where counting intervals overlap, each starts an eighth of its length after the one before."""

PLENTY = 5000
"""With this many intervals side by side, the variance is known well enough; overlapping would only cost time."""

EDGE = 1e-11
"""An arrival so close to the edge between two intervals, in parts of the whole time, lies on it: times that were added
up in another order differ in their last digits, and must not fall into another interval for that."""


def scv(iats: FloatArray) -> float:
    """Squared coefficient of variation; 0 for constant IATs, 1 for Poisson arrivals.

    >>> scv(np.array([1.0, 3.0]))
    0.25
    """
    mean = iats.mean()
    return float(iats.var() / mean**2) if mean > 0 else 0.0


def acf(iats: FloatArray, lags: Iterable[int]) -> FloatArray:
    """Autocorrelation at the given lags, by the biased estimator; 0 where the IATs are constant.

    One FFT serves all lags, so the cost is n log n and not n times the number of lags.

    >>> acf(np.array([1.0, 2.0] * 500), [1, 2]).round(2).tolist()
    [-1.0, 1.0]
    """
    wanted = np.asarray(list(lags), dtype=np.int64)
    if wanted.size == 0 or iats.min() == iats.max():  # the mean of equal numbers may differ from them by rounding
        return np.zeros(wanted.size)
    if wanted.min() < 0 or wanted.max() >= iats.size:
        raise ValueError(f"lags must lie in [0, {iats.size - 1}]; got {wanted.min()} to {wanted.max()}")
    length = next_fast_len(iats.size + int(wanted.max()), real=True)
    spectrum = rfft(iats - iats.mean(), length)
    covariance = irfft(spectrum * spectrum.conj(), length)
    return np.asarray(covariance[wanted] / covariance[0])


def idc(iats: FloatArray, t_s: npt.ArrayLike) -> FloatArray:
    """Index of dispersion ``Var N(t) / E N(t)`` of counts; 1 for Poisson arrivals.

    An interval longer than half the window has too few counts to have a variance: that is an error here.

    >>> idc(np.ones(1000), [10.0]).round(3).tolist()
    [0.0]
    """
    arrivals = np.cumsum(iats)
    end = float(arrivals[-1])
    spans = np.atleast_1d(np.asarray(t_s, dtype=np.float64))
    if spans.size and (spans.min() <= 0 or spans.max() > end / 2):
        raise ValueError(f"t must lie in (0, {end / 2:g}], half the window; got {spans.min():g} to {spans.max():g}")
    result = np.empty(spans.size)
    for i, span in enumerate(spans):
        steps = steps_of(float(span), end)
        step = float(span) / steps
        whole = whole_intervals(end, step)
        # Counted from the end, where there is an arrival for certain: some interval is never empty.
        bins = np.bincount(interval_of(end - arrivals, step, end), minlength=whole)
        result[i] = dispersion(bins[:whole], steps)
    return result


def steps_of(span: float, end: float) -> int:
    """Length of an interval in steps if one begins at every step.

    It is 1 if intervals lie side by side until ``end``.
    """
    return STEPS_PER_SPAN if end / span < PLENTY else 1


def whole_intervals(end: float, length: float) -> int:
    """Number of whole intervals of this length until ``end``."""
    return int(end * (1 + EDGE) / length)


def interval_of(ages: FloatArray, length: float, end: float) -> IntArray:
    """Number of the interval of each arrival, counted back from ``end``.

    >>> interval_of(np.array([0.0, 0.3, 0.1 * 3, 0.35]), 0.1, end=10.0).tolist()
    [0, 3, 3, 3]
    """
    return np.asarray((ages + end * EDGE) / length).astype(np.int64)


def dispersion(bins: IntArray, steps: int) -> float:
    """Variance over mean of counts in intervals of neighbouring bins.

    One interval begins at every bin.
    """
    running = np.concatenate([[0], np.cumsum(bins)])
    counts = running[steps:] - running[:-steps]
    return float(counts.var() / counts.mean())


LONGEST_LAG = 10_000

SHORTEST_SPAN_IATS = 10
"""In shorter intervals the index of dispersion says nothing that the SCV does not."""

LONGEST_SPAN = 1 / 25
"""The index of dispersion is taken up to this part of the window; beyond it there are too few intervals to count."""


def lags_of(iats: int) -> list[int]:
    """Round lags up to a tenth of so many IATs, at least lag 1 if there is one.

    >>> lags_of(300)
    [1, 2, 5, 10, 20]
    """
    longest = min(max(iats // 10, 1), iats - 1, LONGEST_LAG)
    return [int(lag) for lag in round_numbers(1, longest)]


def spans_of(iats: int, total_s: float) -> list[float]:
    """Round numbers of seconds in which enough tuples arrive, and which go into the total often enough."""
    return round_numbers(SHORTEST_SPAN_IATS * total_s / max(iats, 1), LONGEST_SPAN * total_s)


def round_numbers(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, 20, 50 and so on, as far as they lie between two positive numbers.

    >>> round_numbers(0.04, 1.2)
    [0.05, 0.1, 0.2, 0.5, 1.0]
    """
    if not 0 < low <= high:
        return []
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    return [n for decade in decades for n in (float(f"{digit}e{decade}") for digit in (1, 2, 5)) if low <= n <= high]
