"""Distributions of the form ``P(X > t) = b exp(Kt) e``: their means and quantiles, many at a time.

The response time of MAP/PH/1 has this form, and so has every phase-type distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np

from mead.arrays import FloatArray

TAYLOR = np.array([1.0 / factorial(k) for k in range(13)])
TAYLOR_REACH = 0.25
"""``||K h||`` of one Taylor step; the first neglected term is then below 1e-17."""
ORDERS = np.arange(TAYLOR.size)[:, None, None]
NEWTON_STEPS = 5
"""The polynomial is nearly straight, so a few steps from the straight line's answer reach rounding."""


@dataclass(frozen=True, eq=False)
class MatrixExponential:
    """Stacked distributions of the form ``b exp(Kt) e``.

    ``b`` and ``e`` have shape (stack, phases), ``K`` has shape (stack, phases, phases).

    >>> exponential = MatrixExponential(np.ones((1, 1)), np.full((1, 1, 1), -2.0), np.ones((1, 1)))
    >>> exponential.means().tolist(), exponential.quantiles(np.array([np.exp(-4.0)])).round(12).tolist()
    ([0.5], [[2.0]])
    """

    b: FloatArray
    K: FloatArray
    e: FloatArray

    def means(self) -> FloatArray:
        """``b (-K)^-1 e``, one per distribution."""
        inside = np.linalg.solve(-self.K, self.e[:, :, None])
        return np.asarray((self.b[:, None, :] @ inside)[:, 0, 0])

    def quantiles(self, late: FloatArray) -> FloatArray:
        """Times t with ``P(X > t) = late``, shape (stack, len(late)).

        The powers ``exp(K h 2^k)`` come by squaring and are shared by all quantiles. Going down the powers gives t
        bit by bit, and Newton's method on one Taylor polynomial the rest, so there is no root search in the dark.
        """
        h = TAYLOR_REACH / np.abs(self.K).sum(axis=2).max(axis=1)
        step = self.K * h[:, None, None]
        powers = self._powers(step, float(late.min()))
        ages = np.repeat(self.b[:, None, :], late.size, axis=1)
        ticks = np.zeros((self.b.shape[0], late.size))
        for exponent in range(len(powers) - 1, -1, -1):
            later = ages @ powers[exponent]
            still_late = (later @ self.e[:, :, None])[:, :, 0] > late
            ages = np.where(still_late[:, :, None], later, ages)
            ticks += np.where(still_late, 2.0**exponent, 0.0)
        return np.asarray((ticks + self._last_fraction(step, ages, late)) * h[:, None])

    def _powers(self, step: FloatArray, least: float) -> list[FloatArray]:
        """``exp(step)`` squared again and again, until no tail beyond the last exceeds ``least``."""
        powers = [_taylor_exponential(step)]
        while float(((self.b[:, None, :] @ powers[-1])[:, 0] * self.e).sum(axis=1).max()) > least:
            powers.append(powers[-1] @ powers[-1])
        return powers

    def _last_fraction(self, step: FloatArray, ages: FloatArray, late: FloatArray) -> FloatArray:
        """The fraction x of one step with ``ages exp(step x) e = late``."""
        coefficients = np.empty((TAYLOR.size, *ages.shape[:2]))
        column = self.e[:, :, None]
        for k, weight in enumerate(TAYLOR):
            coefficients[k] = (ages @ column)[:, :, 0] * weight
            column = step @ column
        slopes = coefficients[1:] * ORDERS[1:]
        # Where the density vanishes at 0, as an Erlang's does, there is no straight line to begin with.
        middle = np.full(ages.shape[:2], 0.5)
        x = np.divide(late - coefficients[0], coefficients[1], out=middle, where=coefficients[1] < -1e-6)
        x = np.clip(x, 0.0, 1.0)
        for _ in range(NEWTON_STEPS):
            powers = x**ORDERS
            slope = np.minimum((slopes * powers[:-1]).sum(axis=0), -1e-300)
            x = np.clip(x - ((coefficients * powers).sum(axis=0) - late) / slope, 0.0, 1.0)
        return np.asarray(x)


def _taylor_exponential(step: FloatArray) -> FloatArray:
    """``exp(step)`` by the Taylor polynomial of order 12.

    Five matrix products suffice (Paterson and Stockmeyer 1973).
    """
    identity = np.eye(step.shape[1])
    second = step @ step
    third, fourth = second @ step, second @ second
    result = TAYLOR[12] * fourth
    for k in (8, 4, 0):
        low = TAYLOR[k] * identity + TAYLOR[k + 1] * step + TAYLOR[k + 2] * second + TAYLOR[k + 3] * third
        result = low + (result if k == 8 else fourth @ result)
    return np.asarray(result)
