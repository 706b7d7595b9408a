"""LR: a straight line through the window."""

from __future__ import annotations

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.forecasting.forecaster import Windowed


class Linear(Windowed):
    """Ordinary least squares on the index of a sample, and on nothing else.

    >>> line = Linear(window=12)
    >>> line.observe(np.array([9.0, 7.0, 5.0]))
    >>> line.forecast(3).round(9).tolist()
    [3.0, 1.0, -1.0]
    """

    def _beyond(self, window: FloatArray, steps: int) -> FloatArray:
        index = np.arange(window.size) - (window.size - 1) / 2
        spread = float(index @ index)
        slope = float(index @ window) / spread if spread else 0.0
        return np.asarray(window.mean() + slope * ((window.size + 1) / 2 + np.arange(steps)))
