"""EWMA: the level, exponentially smoothed."""

from __future__ import annotations

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.forecasting.forecaster import NothingObservedError, checked


class Ewma:
    """An exponentially weighted moving average: the weight of a sample halves every third of the span, roughly.

    The level is all that there is to predict of self-similar arrivals, and smoothing finds it best. Updated sample by
    sample; the first few count as if there had been no others.

    >>> level = Ewma(span=3)
    >>> level.observe(np.array([4.0, 8.0]))
    >>> level.forecast(2).round(3).tolist()  # (8 + 4/2) / (1 + 1/2)
    [6.667, 6.667]
    """

    def __init__(self, span: float) -> None:
        if not span >= 1:
            raise ValueError(f"the span of an average is at least 1 sample; got {span:g}")
        self._fading = 1 - 2 / (span + 1)
        self._sum = self._weight = 0.0

    def observe(self, samples: FloatArray) -> None:
        """Every sample in its turn."""
        for sample in checked(samples).tolist():
            self._sum = self._fading * self._sum + sample
            self._weight = self._fading * self._weight + 1.0

    def forecast(self, steps: int) -> FloatArray:
        """The level, for all of them."""
        if steps < 1:
            raise ValueError(f"a forecast is of at least 1 step; got {steps}")
        if not self._weight:
            raise NothingObservedError("there is no forecast before the first sample")
        return np.full(steps, self._sum / self._weight)
