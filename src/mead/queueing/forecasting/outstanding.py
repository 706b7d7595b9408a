"""Forecasts that have been made, kept until the samples that they foresee have come."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from mead.arrays import FloatArray


@dataclass(frozen=True)
class Settled:
    """The mean of a few samples, as it was foreseen and as it came."""

    forecast: float
    actual: float


class Outstanding:
    """Keeps forecasts of the mean of the next ``steps`` samples, and hands each back with what came of it.

    >>> import numpy as np
    >>> outstanding = Outstanding(steps=2)
    >>> outstanding.expect(7.0)
    >>> outstanding.settle(np.array([5.0]))
    []
    >>> outstanding.settle(np.array([8.0, 9.0]))
    [Settled(forecast=7.0, actual=6.5)]
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self._open: deque[tuple[int, float, float]] = deque()
        self._count, self._sum = 0, 0.0

    def expect(self, forecast: float) -> None:
        """Keep a forecast that is made now."""
        self._open.append((self._count + self.steps, self._sum, forecast))

    def settle(self, samples: FloatArray) -> list[Settled]:
        """The forecasts whose last sample is among these, each with what came."""
        settled = []
        for sample in samples.tolist():
            self._count += 1
            self._sum += sample
            while self._open and self._open[0][0] == self._count:
                _, before, forecast = self._open.popleft()
                settled.append(Settled(forecast, (self._sum - before) / self.steps))
        if not self._open:
            self._sum = 0.0  # so that it stays exact, however long a run is
        return settled
