"""The Hurst parameter of a stream, from the wavelet energies of its counts at octaves of time.

The estimator is that of P. Abry and D. Veitch ("Wavelet analysis of long-range-dependent traffic", IEEE Transactions on
Information Theory 44, 1998), with the Haar wavelet: at octave j it compares the counts in neighbouring intervals of
length 2^(j-1), and its mean energy grows as 2^(j (2H - 1)). Unlike the variance of aggregated counts it does not need
the mean, so that a slow change of the rate is not taken for long memory as easily. And it needs nothing but sums of
squared counts, since (a - b)^2 = 2 a^2 + 2 b^2 - (a + b)^2: whole numbers, which parts of a trace can be added up from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, log, log2

import numpy as np
from scipy.special import chdtrc, digamma, zeta

from mead.arrays import FloatArray
from mead.queueing.statistics.inter_arrivals import interval_of, whole_intervals

METHOD = "wavelet (Haar, Abry-Veitch) on counts"

FEWEST_PAIRS = 8
"""An octave with fewer pairs of intervals says too little about its mean energy."""

FEWEST_OCTAVES = 3
"""A line through two points fits always."""

FITS = 0.05
"""Octaves lie on a line if chance alone would be off by as much this often."""


@dataclass(frozen=True)
class Level:
    """Intervals of one length, counted back from the last arrival.

    The next level has intervals twice as long.
    """

    length_s: float
    intervals: int
    """How many of them fit into the trace."""

    @property
    def in_pairs(self) -> int:
        """Number of intervals that have a neighbour to compare with."""
        return self.intervals - self.intervals % 2


@dataclass(frozen=True)
class SquaredCounts:
    """Sums of squared counts of one level: of its intervals and of pairs."""

    all: int
    in_pairs: int


@dataclass(frozen=True)
class Hurst:
    """The estimate: 0.5 without long memory, up to 1 with it; beyond 1 the stream is not stationary."""

    value: float
    error: float
    """Standard error, if the octaves in use lie on a line but for chance."""
    shortest_s: float
    longest_s: float
    """The shortest and the longest scale in use."""
    fits: bool
    """Whether the octaves lie on a line; if not, the estimate is one slope for what has several."""


def levels_of(iats: int, end_s: float) -> list[Level]:
    """Levels from about one arrival per interval to the longest with enough pairs.

    Lengths are powers of two of a second.

    >>> [(level.length_s, level.intervals) for level in levels_of(100, 50.0)]
    [(0.5, 100), (1.0, 50), (2.0, 25), (4.0, 12)]
    """
    if iats == 0 or end_s <= 0:
        return []
    length_s = 2.0 ** ceil(log2(end_s / iats))
    intervals = whole_intervals(end_s, length_s)
    count = max(intervals // FEWEST_PAIRS, 1).bit_length()
    return [Level(length_s * 2**j, intervals >> j) for j in range(count)]


def hurst(iats_s: FloatArray) -> Hurst | None:
    """The estimate for a window in memory; None if it is too short or too regular to have one."""
    arrivals_s = np.cumsum(iats_s)
    end_s = float(arrivals_s[-1]) if iats_s.size else 0.0
    levels = levels_of(iats_s.size, end_s)
    squares = []
    for level in levels:
        counts = np.bincount(interval_of(end_s - arrivals_s, level.length_s, end_s), minlength=level.intervals)
        squares.append(
            SquaredCounts(int((counts[: level.intervals] ** 2).sum()), int((counts[: level.in_pairs] ** 2).sum()))
        )
    return hurst_of_counts(levels, squares)


def hurst_of_counts(levels: Sequence[Level], squares: Sequence[SquaredCounts]) -> Hurst | None:
    """The estimate from the sums of squared counts at every level."""
    energies = [2 * fine.in_pairs - coarse.all for fine, coarse in pairwise(squares)]
    if len(energies) < FEWEST_OCTAVES or min(energies) <= 0:
        return None
    octaves = np.arange(1.0, len(energies) + 1)
    pairs = np.array([level.intervals for level in levels[1:]])
    log_energy = np.array([log2(energy) for energy in energies]) - octaves - np.log2(pairs)
    # The logarithm of a mean is biased and has a known variance, if details are Gaussian: Veitch and Abry,
    # "A wavelet-based joint estimator of the parameters of long-range dependence" (IEEE Transactions on
    # Information Theory 45, 1999).
    log_energy -= digamma(pairs / 2) / log(2) - np.log2(pairs / 2)
    variance = zeta(2, pairs / 2) / log(2) ** 2
    starts = range(len(energies) - FEWEST_OCTAVES + 1)
    lines = [_line(octaves[start:], log_energy[start:], variance[start:]) for start in starts]
    # Scaling begins somewhere above the length of a packet or a burst: where the octaves begin to lie on a line.
    first = next((start for start in starts if lines[start].chance >= FITS), None)
    start = max(starts, key=lambda start: lines[start].chance) if first is None else first
    line = lines[start]
    return Hurst(
        value=(line.slope + 1) / 2,
        error=line.error / 2,
        shortest_s=levels[start + 1].length_s,
        longest_s=levels[-1].length_s,
        fits=first is not None,
    )


@dataclass(frozen=True)
class _Line:
    slope: float
    error: float
    chance: float
    """How often chance alone would put the points further off."""


def _line(x: FloatArray, y: FloatArray, variance: FloatArray) -> _Line:
    """Weighted least squares."""
    weight = 1 / variance
    middle = weight @ x / weight.sum()
    spread = weight @ (x - middle) ** 2
    slope = weight @ ((x - middle) * y) / spread
    off = y - weight @ y / weight.sum() - slope * (x - middle)
    return _Line(float(slope), float(spread**-0.5), float(chdtrc(x.size - 2, weight @ off**2)))
