"""The phase-type distribution: how MEAD describes service times.

``PH(alpha, T)`` is the time until a Markov chain with initial distribution ``alpha`` and sub-generator ``T``
leaves its phases. Formulas: Neuts (1981), chapter 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, factorial, sqrt

import numpy as np
import numpy.typing as npt
from scipy.linalg import expm

from mead.arrays import FloatArray, frozen
from mead.queueing.markov import communicating_classes
from mead.queueing.sampling import sample_ph

TOLERANCE = 1e-8
"""Allowed rounding in ``alpha`` (absolute) and in the row sums of ``T`` (relative to the fastest rate)."""

MAX_ERLANG_PHASES = 64
"""More phases than this are no longer a Markov model of anything; the SCV stops at 1/64."""


class InvalidPHError(ValueError):
    """The vector and matrix are not a phase-type distribution. The message names the rule that is broken."""


@dataclass(frozen=True, eq=False)
class PH:
    """A phase-type distribution of seconds.

    >>> service = PH.erlang(phases=2, mean_s=0.0015)
    >>> round(service.mean_s, 9), round(service.scv, 9)
    (0.0015, 0.5)
    """

    alpha: FloatArray
    T: FloatArray

    def __init__(self, alpha: npt.ArrayLike, T: npt.ArrayLike) -> None:
        object.__setattr__(self, "alpha", frozen(alpha))
        object.__setattr__(self, "T", frozen(T))
        _check(self.alpha, self.T)

    @classmethod
    def exponential(cls, mean_s: float) -> PH:
        """One phase."""
        return cls.erlang(1, mean_s)

    @classmethod
    def erlang(cls, phases: int, mean_s: float) -> PH:
        """The sum of ``phases`` equal exponentials: SCV ``1/phases``."""
        if phases < 1 or not mean_s > 0:
            raise InvalidPHError(f"an Erlang distribution needs phases >= 1 and mean > 0; got {phases} and {mean_s:g}")
        rate = phases / mean_s
        T = np.diag(np.full(phases, -rate)) + np.diag(np.full(phases - 1, rate), 1)
        return cls(np.eye(phases)[0], T)

    @classmethod
    def with_moments(cls, mean_s: float, scv: float) -> PH:
        """The usual two-moment fit of a mean and an SCV.

        It is a mixture of two Erlangs below SCV 1 and two balanced exponentials above.

        Tijms, "Stochastic Models" (1994), appendix B. Below ``1/MAX_ERLANG_PHASES`` the SCV is raised to that.

        >>> [round(PH.with_moments(2.0, c).scv, 9) for c in (0.3, 1.0, 4.0)]
        [0.3, 1.0, 4.0]
        """
        if not (mean_s > 0 and scv >= 0):
            raise InvalidPHError(f"a service time needs mean > 0 and SCV >= 0; got {mean_s:g} and {scv:g}")
        scv = max(scv, 1 / MAX_ERLANG_PHASES)
        if scv == 1:
            return cls.exponential(mean_s)
        if scv > 1:
            p = 0.5 * (1 + sqrt((scv - 1) / (scv + 1)))
            return cls([p, 1 - p], np.diag([-2 * p / mean_s, -2 * (1 - p) / mean_s]))
        k = ceil(1 / scv)
        # Zero at SCV 1/k, where rounding can make it or the root's argument negative.
        shorter = max(0.0, (k * scv - sqrt(max(0.0, k * (1 + scv) - k * k * scv))) / (1 + scv))
        rate = (k - shorter) / mean_s
        alpha = np.zeros(k)
        alpha[0] = 1 - shorter
        alpha[min(1, k - 1)] += shorter
        return cls(alpha, np.diag(np.full(k, -rate)) + np.diag(np.full(k - 1, rate), 1))

    @property
    def phases(self) -> int:
        """Number of phases of the chain."""
        return int(self.alpha.size)

    @cached_property
    def exit_rates(self) -> FloatArray:
        """``-T 1``: the rate of leaving for good, per phase."""
        return frozen(np.maximum(-self.T.sum(axis=1), 0.0))

    def moment(self, order: int) -> float:
        """``E[X^k] = k! alpha (-T)^-k 1``."""
        vector: FloatArray = np.ones(self.phases)
        for _ in range(order):
            vector = np.asarray(np.linalg.solve(-self.T, vector))
        return float(factorial(order) * self.alpha @ vector)

    @cached_property
    def mean_s(self) -> float:
        """Mean in seconds."""
        return self.moment(1)

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return self.moment(2) / self.moment(1) ** 2 - 1.0

    def survival(self, t_s: float) -> float:
        """``P(X > t) = alpha exp(Tt) 1``."""
        return float((self.alpha @ expm(self.T * t_s)).sum())

    def scaled(self, factor: float) -> PH:
        """The distribution of ``factor`` times the variable: what a smaller CPU share does to a service time."""
        return PH(self.alpha, self.T / factor)

    def sample(self, shape: int | tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        """Independent samples in seconds."""
        return sample_ph(self.alpha, self.T, shape, rng)


def _check(alpha: FloatArray, T: FloatArray) -> None:
    """Raise InvalidPHError with the first rule that is broken."""
    if alpha.ndim != 1 or alpha.size == 0 or T.shape != (alpha.size, alpha.size):
        raise InvalidPHError(f"alpha must be a vector and T square of the same size; got {alpha.shape} and {T.shape}")
    if not (np.isfinite(alpha).all() and np.isfinite(T).all()):
        raise InvalidPHError("alpha and T must hold finite numbers only")
    if alpha.min() < 0 or abs(alpha.sum() - 1) > TOLERANCE:
        raise InvalidPHError(f"alpha must be non-negative and sum to 1; got {alpha.tolist()}")
    if (T - np.diag(np.diag(T))).min() < 0:
        raise InvalidPHError("T must be non-negative off its diagonal")
    sums = T.sum(axis=1)
    worst = int(sums.argmax())
    if sums[worst] > TOLERANCE * np.abs(T).max():
        raise InvalidPHError(f"the rows of T must not sum to more than zero; row {worst} sums to {sums[worst]:g}")
    # An extra state for "over": a phase that cannot reach it is never left for good.
    leave = np.append(-sums > TOLERANCE * np.abs(np.diag(T)), True)
    over = np.block([[T, leave[:-1, None].astype(np.float64)], [np.ones((1, alpha.size + 1))]])
    if len(communicating_classes(over)) > 1:
        raise InvalidPHError("some phase of T is never left for good, so the time would be infinite")
