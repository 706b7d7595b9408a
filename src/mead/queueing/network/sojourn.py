"""Distributions of times spent at operators, and of their sums along a path.

A percentile of a sum is not the sum of percentiles, and under bursts the terms are long together. Both are kept: times
are matrix-exponential, ``P(X > t) = b exp(Kt) e`` as the queueing models return them, and a time behind the bottleneck
is known separately for every depth at which the bottleneck's queue was left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log, log10

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.linalg import expm

from mead.arrays import FloatArray, IntArray
from mead.queueing.matrix_exponential import MatrixExponential
from mead.queueing.ph import PH
from mead.queueing.queues.response import check_percent

LATTICE_POINTS = 1023
LEAST_POINTS = 128
"""Points that a lattice has (one less than a power of two), and points below the percentile that it needs. A lattice
keeps the means, so its error is of second order: 5e-5 at the 95th percentile of two Erlang-4 times, less for others."""

FEW_SOJOURNS = 8
"""A sum of more times than this needs a finer lattice: each of them is a smaller part of the sum."""

CONVOLVED_AT_ONCE = 4
"""More lattices than this are convolved by halves. All at once, every transform would be as long as all together."""

DEEPEST = 1e-9
"""The rarest lateness that is read off a lattice."""


@dataclass(frozen=True, eq=False)
class Queue:
    """A solved MAP/PH/1 queue in seconds: ``P(R > t) = b exp(Kt) e``.

    ``e`` holds the rates at which services end.

    The age process of the queue keeps the arrival phase that a tuple came with. ``depth`` says for each of its phases
    how deep the queue before this one was left then.
    """

    b: FloatArray
    K: FloatArray
    e: FloatArray
    depth: IntArray


@dataclass(frozen=True, eq=False)
class Part:
    """A time in seconds with ``P(X > t, depth = k) = b exp(Kt) e[:, k]``.

    The rest of ``weights[k]`` is the probability that X = 0.

    >>> service = Part.of_service(PH.erlang(2, 3.0))
    >>> round(service.mean_s, 9), round(service.scaled(2.0).mean_s, 9)
    (3.0, 6.0)
    """

    b: FloatArray
    K: FloatArray
    e: FloatArray
    """One column per depth."""
    weights: FloatArray
    """The probability of each depth."""

    @classmethod
    def of_service(cls, service: PH) -> Part:
        """A service time, or any phase-type one, the same at every depth."""
        return cls(service.alpha, service.T, np.ones((service.phases, 1)), np.ones(1))

    @classmethod
    def of_response(cls, queue: Queue) -> Part:
        """The response time of a queue."""
        by_depth = queue.e[:, None] * np.eye(int(queue.depth.max()) + 1)[queue.depth]
        return cls(queue.b, queue.K, by_depth, queue.b @ by_depth)

    @classmethod
    def of_wait(cls, queue: Queue) -> Part:
        """The waiting time of a queue, ``P(W > t) = b exp(Kt) (e + K 1)``.

        A service starts where the age lands after a departure. The density of the age before it is ``b (-K) exp(Kt)``,
        and the drops to t, all taken together, are ``Psi D1 1 = K 1 + e``.
        """
        response = cls.of_response(queue)
        starting = queue.K @ np.eye(response.weights.size)[queue.depth]
        return cls(queue.b, queue.K, response.e + starting, response.weights)

    @cached_property
    def mean_s(self) -> float:
        """``b (-K)^-1 e``."""
        return float((self.b @ self._beyond).sum())

    def scaled(self, factor: float) -> Part:
        """The distribution of ``factor`` times the time."""
        return self if factor == 1 else Part(self.b, self.K / factor, self.e, self.weights)

    def quantile_s(self, late: float) -> float:
        """The time t with ``P(X > t) = late``, over all depths."""
        whole = MatrixExponential(self.b[None], self.K[None], self.e.sum(axis=1)[None])
        return float(whole.quantiles(np.array([late]))[0, 0])

    def lattice(self, step_s: float) -> FloatArray:
        """The distribution at every depth on multiples of ``step_s``, one row per depth, each of total one.

        A value is shared by its two neighbours so that means stay: the mass at ``kh`` is the second difference of
        ``integral_t^inf P(X > u) du = b exp(Kt) (-K)^-1 e``, divided by h.
        """
        power = expm(self.K * step_s)
        rows = np.empty((LATTICE_POINTS + 1, self.b.size))
        rows[0], filled = self.b, 1
        while filled < rows.shape[0]:
            rows[filled : 2 * filled] = rows[:filled] @ power
            power, filled = power @ power, 2 * filled
        beyond = (rows @ self._beyond).T / self.weights[:, None]
        slope = np.diff(beyond, axis=1, prepend=beyond[:, :1] + step_s) / step_s
        return np.maximum(np.diff(slope, axis=1), 0.0)

    @cached_property
    def _beyond(self) -> FloatArray:
        return np.asarray(np.linalg.solve(-self.K, self.e))


@dataclass(frozen=True, eq=False)
class Sojourn:
    """The time at one operator: a sum of parts, of which one at most depends on the depth, the first."""

    parts: tuple[Part, ...]

    @cached_property
    def mean_s(self) -> float:
        """Mean in seconds."""
        return sum(part.mean_s for part in self.parts)

    def scaled(self, factor: float) -> Sojourn:
        """The distribution of ``factor`` times the time."""
        return self if factor == 1 else Sojourn(tuple(part.scaled(factor) for part in self.parts))


@dataclass(frozen=True, eq=False)
class Response:
    """The response time of an operator or of a path: mean and percentiles of the sum of its sojourns.

    The first sojourn is that of the bottleneck. The others are independent of it and of each other once it is known
    how deep the bottleneck's queue was left; and the longer a tuple has been at the bottleneck, the deeper.

    >>> one_second = Sojourn((Part.of_service(PH.exponential(1.0)),))
    >>> two = Response(0.0, (one_second, one_second))
    >>> two.mean_s, round(PH.erlang(2, 2.0).survival(two.percentile_s(95)), 5)
    (2.0, 0.05)
    """

    utilization: float
    sojourns: tuple[Sojourn, ...]

    @cached_property
    def mean_s(self) -> float:
        """Mean response time."""
        return sum(sojourn.mean_s for sojourn in self.sojourns)

    def percentile_s(self, percent: float) -> float:
        """The response time that ``percent`` of the tuples do not exceed."""
        late = check_percent(percent)
        if len(self.sojourns) == len(self.sojourns[0].parts) == 1:
            return self.sojourns[0].parts[0].quantile_s(late)
        if late >= DEEPEST:
            return self._quantile_s(late)
        # So far out the tail is exponential, and a sum of a thousand masses has not the digits to tell.
        decade_s = self._quantile_s(DEEPEST) - self._quantile_s(10 * DEEPEST)
        return self._quantile_s(DEEPEST) + decade_s * log10(DEEPEST / late)

    def _quantile_s(self, late: float) -> float:
        """The time that the sum exceeds with probability ``late``, from a lattice that fits it."""
        # An exponential time exceeds -ln(late) times its mean with that probability; twice as far covers most sums.
        end_s = 2 * self.mean_s * (1 - log(late))
        least = LEAST_POINTS if len(self.sojourns) <= FEW_SOJOURNS else LATTICE_POINTS // 3
        while True:
            step_s = end_s / (LATTICE_POINTS - 1)
            mass = self._lattice(step_s)
            reached = np.cumsum(mass) - mass / 2
            below = int(np.searchsorted(reached, 1.0 - late))
            if least <= below < LATTICE_POINTS:
                return float(np.interp(1.0 - late, reached, step_s * np.arange(LATTICE_POINTS)))
            end_s = end_s * 4 if below == LATTICE_POINTS else step_s * max(below, 1) * 2

    def percentiles_s(self, percents: Iterable[float]) -> list[float]:
        """Several percentiles."""
        return [self.percentile_s(percent) for percent in percents]

    def _lattice(self, step_s: float) -> FloatArray:
        """The distribution of the sum on multiples of ``step_s``."""
        first, *others = self.sojourns
        alone = _convolved([part.lattice(step_s) for part in first.parts])[0]
        rank = np.concatenate([[0.0], np.cumsum(alone)])
        # Ranks from 0 to 1 tell how long a tuple was at the bottleneck; each other sojourn cuts them into its depths.
        cuts = [np.cumsum(other.parts[0].weights)[:-1] for other in others]
        edges = np.concatenate([[0.0], np.unique(np.concatenate([*cuts, []])), [np.inf]])
        between = np.clip(np.minimum(rank[1:], edges[1:, None]) - np.maximum(rank[:-1], edges[:-1, None]), 0.0, None)
        terms = [between]
        for other, cut in zip(others, cuts, strict=True):
            depth = np.searchsorted(cut, edges[:-1], side="right")
            terms.append(other.parts[0].lattice(step_s)[depth])
            terms += [part.lattice(step_s) for part in other.parts[1:]]
        return np.asarray(_convolved(terms).sum(axis=0))


def _convolved(terms: Sequence[FloatArray]) -> FloatArray:
    """Convolve lattices row by row, as far as they reach.

    A single row counts for as many as there are.
    """
    if len(terms) == 1:
        return terms[0]
    if len(terms) > CONVOLVED_AT_ONCE:
        half = len(terms) // 2
        terms = (_convolved(terms[:half]), _convolved(terms[half:]))
    size = next_fast_len(len(terms) * LATTICE_POINTS, real=True)
    spectrum = rfft(terms[0], size)
    for term in terms[1:]:
        spectrum = spectrum * rfft(term, size)
    return np.maximum(irfft(spectrum, size)[:, :LATTICE_POINTS], 0.0)
