"""Arrivals more regular than Poisson: a renewal process is all they need."""

from __future__ import annotations

from mead.arrays import FloatArray
from mead.queueing.fitting.window import FittedMAP
from mead.queueing.map import MAP
from mead.queueing.ph import PH
from mead.queueing.statistics.inter_arrivals import scv

REGULAR_SCV = 0.5
REGULAR_IDI = 0.6
MOST_PHASES = 16
"""A constant would need infinitely many; sixteen leave the response of a constant stream 1-10 % too high."""


def is_regular(unit: FloatArray) -> bool:
    """Whether IATs of mean 1 vary little, and sums of ten and of a hundred of them no more."""
    return scv(unit) < REGULAR_SCV and all(
        index_of_dispersion_for_intervals(unit, count) < REGULAR_IDI for count in (10, 100) if unit.size >= 10 * count
    )


def regular_model(unit: FloatArray) -> FittedMAP:
    """The renewal process whose IATs are a mixture of two Erlangs with the window's SCV, at rate 1."""
    iat = PH.with_moments(1.0, max(scv(unit), 1 / MOST_PHASES))
    return FittedMAP(MAP.renewal(iat), score=0.0, family=f"renewal({iat.phases})")


def index_of_dispersion_for_intervals(unit: FloatArray, count: int) -> float:
    """SCV of n successive IATs together, times n; 1 for Poisson arrivals.

    ``n Var(X_1 + .. + X_n) / E[X_1 + .. + X_n]^2``

    >>> import numpy as np
    >>> index_of_dispersion_for_intervals(np.tile([0.5, 1.5], 100), 2)
    0.0
    """
    sums = unit[: unit.size // count * count].reshape(-1, count).sum(axis=1)
    return float(count * scv(sums))
