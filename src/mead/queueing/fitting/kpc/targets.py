"""Statistics of a window that a KPC fit reproduces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mead.arrays import FloatArray, IntArray
from mead.queueing.statistics.inter_arrivals import acf, scv

DECAYED = 1e-6
"""An autocorrelation below this has decayed; what follows is noise."""

SAMPLES_PER_LAG = 10
"""The longest lag is a tenth of the window."""

LAGS = 500
"""Logarithmically spaced lags asked for; fewer remain, as the short ones coincide."""

JOINT_LAGS = 5
"""Lags per axis of the grid of third-order joint moments."""

RUN_LENGTHS = 24

LEAST_SCV = 0.5
"""Of a product of blocks: Erlang-2 times exponentials."""

FASTEST_PHASE = 1e-3
"""Least mean of a phase, in mean IATs: simultaneous arrivals would ask for an infinite rate."""


@dataclass(frozen=True, eq=False)
class Targets:
    """Statistics of IATs whose mean is 1."""

    size: int
    scv: float
    third: float
    """``E[X^3] / 6``, which is 1 for Poisson arrivals."""
    lags: IntArray
    rho: FloatArray
    """Autocorrelation at ``lags``."""
    joint_lags: IntArray
    """Rows ``(i, j)`` with ``i <= j``."""
    joint: FloatArray
    """``E[X_t X_{t+i} X_{t+i+j}]`` for these rows."""
    runs: IntArray
    fastest: FloatArray
    """Least mean of so many successive IATs, and ..."""
    slowest: FloatArray
    """... the largest: a phase that lasts that long would have been seen if it were outside."""

    @property
    def reachable_scv(self) -> float:
        """The SCV, or the least that a product of blocks can have."""
        return max(self.scv, LEAST_SCV)

    def phases_seen(self, decay: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The range of means for phases that last ``1 / (1 - decay)`` arrivals."""
        length, log_runs = -np.log1p(-decay), np.log(self.runs)
        return np.interp(length, log_runs, self.fastest), np.interp(length, log_runs, self.slowest)


def measured(iats: FloatArray) -> Targets:
    """Measure IATs of mean 1."""
    longest = -(-iats.size // SAMPLES_PER_LAG)
    lags = _log_spaced(longest, LAGS)
    rho = acf(iats, lags)
    decayed = np.flatnonzero(np.abs(rho) < DECAYED)
    if decayed.size:
        lags, rho = lags[: decayed[0] + 1], rho[: decayed[0] + 1]
    axis = _log_spaced(int(lags[-1]), JOINT_LAGS)
    # Lag pairs that run backwards in the published grid (j < i) take no part in its fit either.
    joint_lags = np.array([(i, j) for i in axis for j in axis if i <= j], dtype=np.int64)
    joint = np.array([joint_moment(iats, int(i), int(j)) for i, j in joint_lags])
    runs, fastest, slowest = _extreme_runs(iats)
    return Targets(
        size=iats.size,
        scv=scv(iats),
        third=float((iats**3).mean()) / 6.0,
        lags=lags,
        rho=rho,
        joint_lags=joint_lags,
        joint=joint,
        runs=runs,
        fastest=np.clip(fastest, FASTEST_PHASE, None),
        slowest=slowest,
    )


def _log_spaced(last: int, count: int) -> IntArray:
    return np.unique(np.round(np.geomspace(1, last, count)).astype(np.int64))


def joint_moment(iats: FloatArray, i: int, j: int) -> float:
    """``E[X_t X_{t+i} X_{t+i+j}]``."""
    count = iats.size - i - j
    return float((iats[:count] * iats[i : i + count]) @ iats[i + j :]) / count


def _extreme_runs(iats: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Least and largest mean of so many successive IATs, for lengths up to half the window."""
    runs = _log_spaced(iats.size // 2, RUN_LENGTHS)
    until = np.concatenate([[0.0], np.cumsum(iats)])
    means = [(until[run:] - until[:-run]) / run for run in runs]
    return runs, np.array([m.min() for m in means]), np.array([m.max() for m in means])
