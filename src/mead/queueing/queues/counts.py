"""Number of arrivals of a MAP in a given time, and the phase afterwards.

``P(n, t)`` is a matrix: entry (i, j) is the probability of n arrivals in t seconds and phase j at the end, from phase
i. For tiny t it comes from uniformization (Neuts 1979). Two spans of time, one after the other, convolve, so every
longer span follows from shorter ones by fast Fourier transform. Once there are too many counts, two neighbours
become one cell: the resolution then falls with the span, and the work per span stays the same however many tuples
arrive.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import exp, log2

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.linalg import expm

from mead.arrays import FloatArray
from mead.queueing.map import MAP

CELLS = 64
"""Cells per law as a rule. Twice as many change the results of the batch server in the fourth digit."""

WIDEST_CELL, MOST_CELLS = 1 / 6, 512
"""No cell stands for more than this part of the mean count, unless that takes too many cells: short bursts of a very
high rate stretch a law far beyond its mean."""

NEGLIGIBLE = 1e-11
"""Probability that may be cut off at each end of a law."""

UNIFORMIZATION_TERMS = 16
"""Enough for spans with at most half a transition: the terms left out are below 1e-19."""


@dataclass(frozen=True, eq=False)
class ArrivalPart:
    """Arrivals in one part of a span, by the count of the whole span.

    The part reaches from fraction ``begin`` to ``end``.
    """

    begin: float
    end: float
    tuples: FloatArray
    """The count of the whole span, per cell."""
    expected: FloatArray
    """Entry (cell, i): expected arrivals in this part while the whole span falls in the cell, from phase i."""


@dataclass(frozen=True, eq=False)
class CountLaw:
    """The law of the number of arrivals in ``span_s`` seconds."""

    span_s: float
    rate_per_s: float
    """Mean rate of the arrivals."""
    width: int
    """Tuples per cell; a power of two."""
    first: int
    """Cell ``c`` of ``mass`` stands for ``(first + c) * width`` tuples."""
    mass: FloatArray = field(repr=False)
    """Entry (cell, i, j). Where two cells were made one, no moment up to the third changed."""
    none: FloatArray = field(repr=False)
    """``exp(D0 t)``: no arrival at all. Exact, while the first cell of ``mass`` may stand for several counts."""
    integrals: FloatArray = field(repr=False)
    """Exponential of the generator bordered by the arrival rate: holds the two exact means below."""
    parts: tuple[ArrivalPart, ...] = field(repr=False)

    @property
    def tuples(self) -> FloatArray:
        """The count that each cell stands for."""
        return np.asarray((self.first + np.arange(self.mass.shape[0])) * self.width, dtype=np.float64)

    @property
    def mean(self) -> FloatArray:
        """Expected arrivals, per phase at the beginning."""
        return self.integrals[:-2, -2]

    @property
    def area(self) -> FloatArray:
        """Expected integral of the count over the span: what the arrivals wait until its end, per phase."""
        return self.integrals[:-2, -1]

    @property
    def some(self) -> FloatArray:
        """``mass`` without the case of no arrival."""
        if self.first > 0:
            return self.mass
        mass = self.mass.copy()
        mass[0] -= self.none
        return mass


class CountLaws:
    """The laws of all multiples of one span, each found once.

    >>> poisson = CountLaws(MAP.poisson(3.0), 2.0)
    >>> law = poisson.law(1)
    >>> [round(float(p), 9) for p in law.mass[:3, 0, 0]] == [round(exp(-6.0) * p, 9) for p in (1, 6, 18)]
    True
    >>> round(float(poisson.law(10).mean[0]), 9)
    60.0
    """

    def __init__(self, arrivals: MAP, span_s: float, *, halvings: int = 1) -> None:
        fastest = float(-arrivals.D0.diagonal().min())
        # The span is halved until hardly anything happens in a piece, and at least as often as was asked for.
        while 2.0 * fastest * span_s > 1 << halvings:
            halvings += 1
        self.unit = 1 << halvings
        self._known = {1: _short(arrivals, span_s / self.unit, fastest)}

    def law(self, multiple: float) -> CountLaw:
        """The law of ``multiple`` times the span.

        The result must be a whole number of the pieces ``span_s / unit``.
        """
        return self._pieces(round(multiple * self.unit))

    def nearest(self, multiple: float, relative: float) -> float:
        """A multiple that is cheap to find: as few binary digits as ``multiple * (1 +- relative)`` allows."""
        pieces = multiple * self.unit
        step = 1 << max(0, int(log2(max(1.0, relative * pieces))))
        return round(pieces / step) * step / self.unit

    def _pieces(self, pieces: int) -> CountLaw:
        if pieces not in self._known:
            half, lowest = pieces // 2, pieces & -pieces
            # Two equal parts say most about when the arrivals come; they are taken if that costs no more.
            doubled = pieces == 2 * half and (half in self._known or half & (half - 1) == 0)
            one = half if doubled else lowest
            self._known[pieces] = joined(self._pieces(pieces - one), self._pieces(one))
        return self._known[pieces]


def joined(earlier: CountLaw, later: CountLaw) -> CountLaw:
    """The law of two spans one after the other."""
    while earlier.width < later.width:
        earlier = _coarser(earlier)
    while later.width < earlier.width:
        later = _coarser(later)
    cells = earlier.mass.shape[0] + later.mass.shape[0] - 1
    size = next_fast_len(cells, real=True)
    left = rfft(earlier.mass, size, axis=0)
    right = left if later is earlier else rfft(later.mass, size, axis=0)
    mass = irfft(left @ right, size, axis=0)[:cells]
    arrivals_later = rfft(later.tuples[:, None] * later.mass.sum(axis=2), size, axis=0)
    expected_later = irfft((left @ arrivals_later[:, :, None])[:, :, 0], size, axis=0)[:cells]
    first = earlier.first + later.first
    tuples = (first + np.arange(cells)) * float(earlier.width)
    span_s = earlier.span_s + later.span_s
    split = earlier.span_s / span_s
    law = CountLaw(
        span_s=span_s,
        rate_per_s=earlier.rate_per_s,
        width=earlier.width,
        first=first,
        mass=mass,
        none=earlier.none @ later.none,
        integrals=earlier.integrals @ later.integrals,
        parts=(
            ArrivalPart(0.0, split, tuples, tuples[:, None] * mass.sum(axis=2) - expected_later),
            ArrivalPart(split, 1.0, tuples, expected_later),
        ),
    )
    law = _trimmed(law)
    widest = WIDEST_CELL * law.rate_per_s * law.span_s
    while law.mass.shape[0] > (CELLS if 2 * law.width <= widest else MOST_CELLS):
        law = _coarser(law)
    return law


def _short(arrivals: MAP, span_s: float, fastest: float) -> CountLaw:
    """Uniformization: Poisson many steps of rate ``fastest``, each with an arrival or without."""
    n = arrivals.states
    without, with_arrival = np.eye(n) + arrivals.D0 / fastest, arrivals.D1 / fastest
    steps = np.eye(n)[None]
    weight = exp(-fastest * span_s)
    mass = np.zeros((UNIFORMIZATION_TERMS, n, n))
    mass[0] = weight * steps[0]
    for k in range(1, UNIFORMIZATION_TERMS):
        following = np.zeros((k + 1, n, n))
        following[:k] = steps @ without
        following[1:] += steps @ with_arrival
        steps = following
        weight *= fastest * span_s / k
        mass[: k + 1] += weight * steps
    bordered = np.zeros((n + 2, n + 2))
    bordered[:n, :n], bordered[:n, n], bordered[n, n + 1] = arrivals.D0 + arrivals.D1, arrivals.D1.sum(axis=1), 1.0
    tuples = np.arange(UNIFORMIZATION_TERMS, dtype=np.float64)
    part = ArrivalPart(0.0, 1.0, tuples, tuples[:, None] * mass.sum(axis=2))
    none, integrals = expm(arrivals.D0 * span_s), expm(bordered * span_s)
    return _trimmed(CountLaw(span_s, arrivals.rate_per_s, 1, 0, mass, none, integrals, (part,)))


def _trimmed(law: CountLaw) -> CountLaw:
    """Without the cells at both ends that hardly any phase reaches."""
    reach = np.abs(law.mass).sum(axis=2)  # shared-out cells may be slightly negative, and count all the same
    below = np.cumsum(reach, axis=0).max(axis=1) > NEGLIGIBLE
    above = np.cumsum(reach[::-1], axis=0)[::-1].max(axis=1) > NEGLIGIBLE
    begin, end = int(below.argmax()), reach.shape[0] - int(above[::-1].argmax())
    kept = law.mass[begin:end]
    # Whatever is cut off would be lost again at every doubling; so each row is brought back to 1.
    return replace(law, first=law.first + begin, mass=kept / kept.sum(axis=(0, 2))[:, None])


def _coarser(law: CountLaw) -> CountLaw:
    """Cells twice as wide. The odd cells are shared out so that mean, variance and third moment stay."""
    begin = law.first - law.first % 2
    cells = law.first % 2 + law.mass.shape[0]
    mass = np.zeros((cells + 1 - cells % 2, *law.mass.shape[1:]))
    mass[law.first % 2 : cells] = law.mass
    odd = mass[1::2]
    pairs = odd.shape[0]
    even = np.zeros((max(pairs, 1) + 3, *odd.shape[1:]))  # one cell more at each end
    even[1 : pairs + 2] = mass[0::2]
    # Cubic interpolation from four neighbours, read as a distribution; its weights preserve four moments.
    for shift, weight in enumerate((-1 / 16, 9 / 16, 9 / 16, -1 / 16)):
        even[shift : shift + pairs] += weight * odd
    first = begin // 2 - 1
    if first < 0:
        # There are no negative counts: what landed there goes to the next three cells, three moments preserved.
        even[1] += 3 * even[0]
        even[2] -= 3 * even[0]
        even[3] += even[0]
        even, first = even[1:], 0
    return replace(law, width=2 * law.width, first=first, mass=even)
