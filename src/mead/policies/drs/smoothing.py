"""Smoothed measurements, in the two ways of DRS.

Fu et al. 2017, section IV-A.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol


class Smoothing(Protocol):
    """Takes the measurements d(n) of one interval after the other, and smooths them to D(n)."""

    @property
    def value(self) -> float | None:
        """D(n), or None before the first measurement."""

    def add(self, measured: float) -> None:
        """d(n)."""


class AlphaWeighted:
    """``D(n) = alpha D(n-1) + (1 - alpha) d(n)``: what is old fades, and never quite goes.

    >>> smoothed = AlphaWeighted(alpha=0.5)
    >>> for measured in (8.0, 4.0, 4.0):
    ...     smoothed.add(measured)
    >>> smoothed.value
    5.0
    """

    def __init__(self, alpha: float) -> None:
        if not 0 <= alpha < 1:
            raise ValueError(f"alpha lies between 0 and 1, 1 excluded; got {alpha:g}")
        self._alpha = alpha
        self._value: float | None = None

    @property
    def value(self) -> float | None:
        """D(n); the first measurement is taken as it is."""
        return self._value

    def add(self, measured: float) -> None:
        """d(n)."""
        before = measured if self._value is None else self._value
        self._value = self._alpha * before + (1 - self._alpha) * measured


class MovingAverage:
    """``D(n)`` is the mean of the last w measurements, or of all while there are fewer.

    >>> smoothed = MovingAverage(size=2)
    >>> for measured in (8.0, 4.0, 5.0):
    ...     smoothed.add(measured)
    >>> smoothed.value
    4.5
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"a window holds at least one measurement; got {size}")
        self._last: deque[float] = deque(maxlen=size)

    @property
    def value(self) -> float | None:
        """D(n)."""
        return sum(self._last) / len(self._last) if self._last else None

    def add(self, measured: float) -> None:
        """d(n)."""
        self._last.append(measured)
