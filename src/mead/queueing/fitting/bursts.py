"""The family of MAPs that the default fitter searches: fast on/off traffic inside slow bursts.

Two things happen at once, at two time scales.

* Fast: the source is *on* or *low*. While on, its arrivals are a Coxian-2 renewal process, which may be more regular
  than Poisson; while low, they are Poisson and rare. Three phases.
* Slow: a *burst* multiplies the rate, then a *lull*. Each lasts a number of exponential stages, run through in a
  ring. With one stage each this is the customary binary modulator. With more, bursts have a typical length, as they
  have in a real window, and the queue no longer sees bursts of every length at once.

The parameters are free real numbers, and every choice of them is a valid MAP of mean rate 1. So the search knows no
constraints. Symbols: for a modulator with relaxation rate kappa, probability p of the high state and variance v of
a multiplier of mean 1, ``high = 1 + sqrt(v (1-p)/p)`` and ``low = 1 - sqrt(v p/(1-p))``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from mead.arrays import FloatArray
from mead.queueing.markov import stationary_rows

FAST, SLOW, REGULARITY = slice(0, 3), slice(3, 6), 6
"""Where the parameters stand: (log kappa, logit p, logit v) twice, then the logit of the Coxian-2's q."""

LOWEST, HIGHEST = -14.0, 9.0
"""Bounds of every parameter; beyond them nothing changes but the rounding."""

FASTEST_LOG_RATE = 4.0
PROBABILITY_MARGIN = 0.002
VARIANCE_SHARE = 0.9999
REGULARITY_SHARE = 0.98


@dataclass(frozen=True)
class Modulators:
    """Stacked binary modulators of a rate.

    Each has a relaxation rate, a probability of the high state and two multipliers.
    """

    relaxation: FloatArray
    probability: FloatArray
    variance: FloatArray

    @classmethod
    def from_parameters(cls, three: FloatArray) -> Modulators:
        """From stacked (log kappa, logit p, logit v)."""
        probability = PROBABILITY_MARGIN + (1 - 2 * PROBABILITY_MARGIN) * expit(three[:, 1])
        largest = (1 - probability) / probability
        return cls(
            relaxation=np.exp(np.clip(three[:, 0], LOWEST, FASTEST_LOG_RATE)),
            probability=probability,
            variance=VARIANCE_SHARE * largest * expit(three[:, 2]),
        )

    @property
    def high(self) -> FloatArray:
        """Multiplier of the rate in the high state."""
        return np.asarray(1 + np.sqrt(self.variance * (1 - self.probability) / self.probability))

    @property
    def low(self) -> FloatArray:
        """Multiplier of the rate in the low state; never negative."""
        return np.asarray(1 - np.sqrt(self.variance * self.probability / (1 - self.probability)))

    @property
    def leave_high(self) -> FloatArray:
        """Rate from high to low."""
        return self.relaxation * (1 - self.probability)

    @property
    def leave_low(self) -> FloatArray:
        """Rate from low to high."""
        return self.relaxation * self.probability


@dataclass(frozen=True)
class BurstFamily:
    """MAPs whose bursts and lulls last this many stages each; 0 of both means that there is no slow part.

    >>> family = BurstFamily(3, 3)
    >>> family.states
    18
    >>> D0, D1 = family.matrices(family.start(window=50_000)[None])
    >>> bool(abs((D0 + D1).sum(axis=2)).max() < 1e-12)
    True
    """

    burst_stages: int
    lull_stages: int

    @property
    def states(self) -> int:
        """States of the MAPs of this family."""
        return 3 * self._stages

    @property
    def _stages(self) -> int:
        return max(self.burst_stages + self.lull_stages, 1)

    @property
    def has_slow_part(self) -> bool:
        """Whether the slow parameters mean anything."""
        return self._stages > 1

    def __str__(self) -> str:
        return f"bursts({self.burst_stages},{self.lull_stages})" if self.has_slow_part else "on-off"

    def start(self, window: int) -> FloatArray:
        """Where a search begins: time scales spread over what a window of that many IATs can show."""
        scales = np.geomspace(2.0, max(window / 60.0, 4.0), 2)
        fast = [-np.log(scales[0] if self.has_slow_part else np.sqrt(scales.prod())), -0.5, -1.0]
        return np.array([*fast, -np.log(scales[1]), -0.5, -1.0, -0.5])

    def matrices(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``(D0, D1)`` of stacked parameter vectors, each at mean rate 1."""
        fast = Modulators.from_parameters(parameters[:, FAST])
        q = (REGULARITY_SHARE * expit(parameters[:, REGULARITY]))[:, None]
        rate, ring = self._slow_part(parameters)
        stacked, stages = rate.shape
        stop, begin = fast.leave_high[:, None], fast.leave_low[:, None]
        # While on, both Coxian phases run at (1 + q) times the rate, so that the mean stays what it was.
        on, low = rate * fast.high[:, None] * (1 + q), rate * fast.low[:, None]
        D0 = np.zeros((stacked, 3, stages, 3, stages))
        D1 = np.zeros_like(D0)
        each = np.arange(stages)
        for phase, leave in enumerate((on + stop, on + stop, low + begin)):
            D0[:, phase, :, phase, :] = ring
            D0[:, phase, each, phase, each] -= leave
        D0[:, 0, each, 1, each] = on * q
        D0[:, 0, each, 2, each] = D0[:, 1, each, 2, each] = np.broadcast_to(stop, on.shape)
        D0[:, 2, each, 0, each] = np.broadcast_to(begin, on.shape)
        D1[:, 0, each, 0, each] = on * (1 - q)
        D1[:, 1, each, 0, each] = on
        D1[:, 2, each, 2, each] = low
        shape = (stacked, self.states, self.states)
        return _at_rate_one(D0.reshape(shape), D1.reshape(shape))

    def _slow_part(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The rate in each stage of the ring, and the ring's generator."""
        stacked, stages = parameters.shape[0], self._stages
        if not self.has_slow_part:
            return np.ones((stacked, 1)), np.zeros((stacked, 1, 1))
        slow = Modulators.from_parameters(parameters[:, SLOW])
        in_burst = np.arange(stages) < self.burst_stages
        rate = np.where(in_burst, slow.high[:, None], slow.low[:, None])
        speed = np.where(
            in_burst, self.burst_stages * slow.leave_high[:, None], self.lull_stages * slow.leave_low[:, None]
        )
        return rate, speed[:, :, None] * (np.roll(np.eye(stages), 1, axis=1) - np.eye(stages))

    def idc(self, parameters: FloatArray, spans: FloatArray) -> FloatArray:
        """Index of dispersion over spans given in mean IATs, as if every burst and lull had one stage.

        The covariance of the rate then is ``(1 + v1 e^(-k1 u)) (1 + v2 e^(-k2 u)) - 1``, a sum of exponentials, and
        the Coxian's SCV stands for the short scale. Good to a few percent; it only guides the search.
        """
        q = REGULARITY_SHARE * expit(parameters[:, REGULARITY])
        result = np.repeat(((1 + q + q * (1 - q)) / (1 + q) ** 2)[:, None], spans.size, axis=1)
        fast = Modulators.from_parameters(parameters[:, FAST])
        terms = [(fast.variance, fast.relaxation)]
        if self.has_slow_part:
            slow = Modulators.from_parameters(parameters[:, SLOW])
            terms.append((slow.variance, slow.relaxation))
            terms.append((fast.variance * slow.variance, fast.relaxation + slow.relaxation))
        for variance, relaxation in terms:
            x = relaxation[:, None] * spans
            # (x - 1 + e^-x) / x^2, which is 1/2 at 0.
            bracket = np.where(x < 1e-4, 0.5 - x / 6, (x + np.expm1(-x)) / np.maximum(x, 1e-12) ** 2)
            result += 2 * variance[:, None] * spans * bracket
        return result


def _at_rate_one(D0: FloatArray, D1: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rescale time so that every MAP of the stack has one arrival per unit."""
    # A uniformized step P = I + Q/c has the stationary distribution of Q.
    generator = D0 + D1
    fastest = np.abs(generator).max(axis=(1, 2), keepdims=True)
    stationary = stationary_rows(np.eye(D0.shape[1]) + generator / fastest)[:, 0]
    rate = (stationary * D1.sum(axis=2)).sum(axis=1)[:, None, None]
    return D0 / rate, D1 / rate
