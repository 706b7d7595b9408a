"""The Markovian arrival process: how MEAD describes bursty arrivals.

A MAP is a Markov chain with generator ``D0 + D1``. The transitions in ``D1`` bring an arrival, those in ``D0``
do not. With one state it is a Poisson process; with more it can have any variability and correlation of
inter-arrival times (IATs). Formulas: Neuts (1979); Casale, Zhang and Smirni, "KPC-Toolbox" (2008).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import factorial

import numpy as np
import numpy.typing as npt
from scipy.linalg import expm

from mead.arrays import FloatArray, frozen
from mead.queueing.markov import communicating_classes, stationary
from mead.queueing.ph import PH
from mead.queueing.sampling import sample_map

ROW_SUM_TOLERANCE = 1e-8
"""Allowed row sum of ``D0 + D1``, relative to the fastest rate: what rounding in a printed matrix can cause."""


class InvalidMAPError(ValueError):
    """The two matrices are not a MAP. The message names the rule that is broken."""


@dataclass(frozen=True, eq=False)
class MAP:
    """A Markovian arrival process ``(D0, D1)`` with rates in 1/s.

    >>> poisson = MAP([[-2.0]], [[2.0]])
    >>> poisson.rate_per_s, poisson.scv
    (2.0, 1.0)
    >>> bursty = MAP.two_state(rate_per_s=100.0, idc=50.0)
    >>> round(bursty.rate_per_s, 9), round(bursty.idc_limit, 9)
    (100.0, 50.0)
    """

    D0: FloatArray
    D1: FloatArray

    def __init__(self, D0: npt.ArrayLike, D1: npt.ArrayLike) -> None:
        object.__setattr__(self, "D0", frozen(D0))
        object.__setattr__(self, "D1", frozen(D1))
        _check(self.D0, self.D1)

    # -- ways to make one ---------------------------------------------------------------------------------------

    @classmethod
    def poisson(cls, rate_per_s: float) -> MAP:
        """The Poisson process: no burstiness at all."""
        return cls([[-rate_per_s]], [[rate_per_s]])

    @classmethod
    def renewal(cls, iat: PH) -> MAP:
        """Independent IATs with a phase-type distribution: the next one starts afresh when the last is over.

        >>> MAP.renewal(PH.erlang(2, 0.5)).scv
        0.5
        """
        return cls(iat.T, np.outer(iat.exit_rates, iat.alpha))

    @classmethod
    def two_state(cls, rate_per_s: float, idc: float, *, ratio: float = 4.0) -> MAP:
        """A fast and a slow state, switched after arrivals, with a given limit of the index of dispersion.

        The fast state sends ``ratio`` times the mean rate, the slow one ``1/ratio`` of it. Closed form of the
        generator in Mencagli, Torquati and Danelutto, "Elastic-PPQ" (2018): after each arrival, leave the fast
        state with probability ``p`` and the slow one with ``ratio * p``.
        """
        if not (idc > 1 and ratio > 1 and rate_per_s > 0):
            raise InvalidMAPError(
                f"a two-state MAP needs rate > 0, index of dispersion > 1 and ratio > 1; "
                f"got rate {rate_per_s:g}, index {idc:g}, ratio {ratio:g}"
            )
        leave_fast = 2 * (ratio - 1) ** 2 / (ratio * (1 + ratio) * (idc - 1))
        leave_slow = ratio * leave_fast
        if leave_slow > 1:
            least = 1 + 2 * (ratio - 1) ** 2 / (1 + ratio)
            raise InvalidMAPError(
                f"with ratio {ratio:g} the index of dispersion cannot be below {least:g}; got {idc:g}"
            )
        fast, slow = rate_per_s * ratio, rate_per_s / ratio
        return cls(
            [[-fast, 0], [0, -slow]],
            [[fast * (1 - leave_fast), fast * leave_fast], [slow * leave_slow, slow * (1 - leave_slow)]],
        )

    # -- statistics of the IATs and of the counts ---------------------------------------------------------------

    @property
    def states(self) -> int:
        """Number of phases of the modulating chain."""
        return int(self.D0.shape[0])

    @cached_property
    def time_stationary(self) -> FloatArray:
        """Distribution of the phase at an arbitrary time: ``pi (D0 + D1) = 0``."""
        return frozen(stationary(self.D0 + self.D1))

    @cached_property
    def embedded_chain(self) -> FloatArray:
        """``P = (-D0)^-1 D1``: the phase from one arrival to the next."""
        return frozen(np.linalg.solve(-self.D0, self.D1))

    @cached_property
    def arrival_stationary(self) -> FloatArray:
        """Distribution of the phase just after an arrival: ``theta P = theta``."""
        flow = self.time_stationary @ self.D1
        return frozen(flow / flow.sum())

    @cached_property
    def rate_per_s(self) -> float:
        """Mean arrivals per second, ``pi D1 1``."""
        return float(self.time_stationary @ self.D1.sum(axis=1))

    @property
    def mean_iat_s(self) -> float:
        """Mean inter-arrival time."""
        return 1.0 / self.rate_per_s

    def moment(self, order: int) -> float:
        """``E[X^k] = k! theta (-D0)^-k 1`` of the inter-arrival time."""
        vector: FloatArray = np.ones(self.states)
        for _ in range(order):
            vector = np.asarray(np.linalg.solve(-self.D0, vector))
        return float(factorial(order) * self.arrival_stationary @ vector)

    @property
    def scv(self) -> float:
        """Squared coefficient of variation of the IAT: variance over squared mean."""
        return self.moment(2) / self.moment(1) ** 2 - 1.0

    def acf(self, lags: Iterable[int]) -> FloatArray:
        """Autocorrelation of the IATs at the given lags (all at least 1).

        ``rho_k = (theta M P^k M 1 - m1^2) / (m2 - m1^2)`` with ``M = (-D0)^-1``.
        """
        wanted = np.asarray(list(lags), dtype=np.int64)
        if wanted.size and wanted.min() < 1:
            raise ValueError(f"lags start at 1; got {wanted.min()}")
        mean = np.linalg.solve(-self.D0, np.ones(self.states))
        left = np.linalg.solve(-self.D0.T, self.arrival_stationary)
        m1 = float(self.arrival_stationary @ mean)
        variance = self.moment(2) - m1**2
        # Taking theta M 1 theta out of the chain leaves only what decays, so no difference of large numbers remains.
        decaying = self.embedded_chain - np.outer(np.ones(self.states), self.arrival_stationary)
        rho = np.empty(wanted.size)
        power, reached = np.eye(self.states), 0
        for index in np.argsort(wanted, kind="stable"):
            power = power @ np.linalg.matrix_power(decaying, int(wanted[index]) - reached)
            reached = int(wanted[index])
            rho[index] = left @ power @ mean / variance
        return rho

    @cached_property
    def idc_limit(self) -> float:
        """Index of dispersion for counts as t grows: ``lim Var N(t) / E N(t)``.

        It equals ``scv (1 + 2 sum rho_k)``.
        """
        pi = self.time_stationary
        fundamental = np.outer(np.ones(self.states), pi) - (self.D0 + self.D1)
        bias = np.linalg.solve(fundamental, self.D1.sum(axis=1) - self.rate_per_s)
        return 1.0 + 2.0 * float(pi @ self.D1 @ bias) / self.rate_per_s

    def idc(self, t_s: npt.ArrayLike) -> FloatArray:
        """Index of dispersion ``Var N(t) / E N(t)`` of the arrivals in t seconds, from a stationary start.

        ``1 + 2/(rate t) * integral_0^t (t-u) cov(u) du`` with the covariance of the rate
        ``cov(u) = pi D1 (exp(Qu) - 1 pi) D1 1`` (Heffes and Lucantoni 1986, eq. 3).
        """
        times = np.atleast_1d(np.asarray(t_s, dtype=np.float64))
        if times.size and times.min() <= 0:
            raise ValueError(f"the index of dispersion needs t > 0; got {times.min():g}")
        excess = self.D1.sum(axis=1) - self.rate_per_s
        return np.array([1.0 + 2.0 * self._excess_integral(excess, t) / (self.rate_per_s * t) for t in times])

    def _excess_integral(self, excess: FloatArray, t: float) -> float:
        """``integral_0^t (t-u) pi D1 exp(Qu) excess du``: how far early arrivals raise the later count."""
        n, pi, generator = self.states, self.time_stationary, self.D0 + self.D1
        left = pi @ self.D1 - self.rate_per_s * pi
        if t * np.abs(generator).max() < 1:
            # Van Loan (1978): this exponential holds the integral itself, with no difference of near-equal numbers.
            block = np.zeros((n + 2, n + 2))
            block[:n, :n], block[:n, n], block[n, n + 1] = generator, excess, 1.0
            return float(left @ expm(block * t)[:n, n + 1])
        fundamental = np.outer(np.ones(n), pi) - generator
        once = np.linalg.solve(fundamental, excess)
        twice = np.linalg.solve(fundamental, once)
        return float(left @ (once * t - twice + expm(generator * t) @ twice))

    # -- transformations ----------------------------------------------------------------------------------------

    def scaled(self, factor: float) -> MAP:
        """The same process with every rate multiplied: time runs ``factor`` times as fast."""
        return MAP(self.D0 * factor, self.D1 * factor)

    def with_rate(self, rate_per_s: float) -> MAP:
        """The same burstiness at another mean rate."""
        return self.scaled(rate_per_s / self.rate_per_s)

    def thinned(self, keep: float) -> MAP:
        """Every arrival is kept with probability ``keep``: what an operator of that selectivity lets through."""
        if not 0 < keep <= 1:
            raise ValueError(f"the probability to keep an arrival must be in (0, 1]; got {keep:g}")
        return MAP(self.D0 + (1 - keep) * self.D1, keep * self.D1)

    def composed(self, other: MAP) -> MAP:
        """Kronecker product composition: ``D0 = -(D0a (x) D0b)``, ``D1 = D1a (x) D1b`` (Casale et al. 2008).

        The moments multiply: ``E[X^k] = E[A^k] E[B^k] / k!``. At most one of the two may have a ``D0`` that is
        not diagonal, or the result has negative rates and is refused.
        """
        return MAP(-np.kron(self.D0, other.D0), np.kron(self.D1, other.D1))

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """``count`` successive IATs in seconds, from a stationary start at an arrival."""
        return sample_map(self.D0, self.D1, self.arrival_stationary, count, rng)


def _check(D0: FloatArray, D1: FloatArray) -> None:
    """Raise InvalidMAPError with the first rule that the matrices break."""
    if D0.ndim != 2 or D0.shape[0] != D0.shape[1] or D0.shape != D1.shape or D0.shape[0] == 0:
        raise InvalidMAPError(f"D0 and D1 must be square and of one size; got {D0.shape} and {D1.shape}")
    if not (np.isfinite(D0).all() and np.isfinite(D1).all()):
        raise InvalidMAPError("D0 and D1 must hold finite numbers only")
    off_diagonal = D0 - np.diag(np.diag(D0))
    if off_diagonal.min() < 0:
        raise InvalidMAPError(f"D0 must be non-negative off its diagonal; {_worst(off_diagonal)}")
    if D1.min() < 0:
        raise InvalidMAPError(f"D1 must be non-negative; {_worst(D1)}")
    sums = (D0 + D1).sum(axis=1)
    worst = int(np.abs(sums).argmax())
    scale = np.abs(D0).max()
    if scale == 0:
        raise InvalidMAPError("D0 is zero: nothing ever happens")
    if abs(sums[worst]) > ROW_SUM_TOLERANCE * scale:
        raise InvalidMAPError(f"the rows of D0 + D1 must sum to zero; row {worst} sums to {sums[worst]:g}")
    if not D1.any():
        raise InvalidMAPError("D1 is zero: there are no arrivals")
    classes = communicating_classes(D0 + D1)
    if len(classes) > 1:
        listed = ", ".join(str(members) for members in sorted(classes))
        raise InvalidMAPError(
            f"D0 + D1 must be irreducible; these groups of states cannot all reach each other: {listed}"
        )


def _worst(matrix: FloatArray) -> str:
    row, column = np.unravel_index(int(matrix.argmin()), matrix.shape)
    return f"entry [{row}][{column}] is {matrix[row, column]:g}"
