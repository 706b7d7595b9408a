"""Basic: the last interval again."""

from __future__ import annotations

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.forecasting.forecaster import Windowed


class Basic(Windowed):
    """The last samples, unchanged: what PSPS uses, and what every other forecaster has to be better than.

    >>> basic = Basic(window=12)
    >>> basic.observe(np.array([5.0, 1.0, 2.0, 3.0]))
    >>> basic.forecast(2).tolist(), basic.forecast(6).tolist()
    ([2.0, 3.0], [5.0, 1.0, 2.0, 3.0, 5.0, 1.0])
    """

    def _beyond(self, window: FloatArray, steps: int) -> FloatArray:
        return np.resize(window[-steps:], steps)
