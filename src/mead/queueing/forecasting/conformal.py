"""An upper quantile for any forecast: the forecast plus how far it was exceeded in the past."""

from __future__ import annotations

from collections import deque
from math import ceil

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.forecasting.forecaster import Forecaster, checked
from mead.queueing.forecasting.outstanding import Outstanding

KEPT = 300
"""How many of the last residuals the margin is made from."""


class Conformal:
    """Raises forecasts so that the mean of ``steps`` samples stays below them in ``quantile`` of all cases.

    Split conformal prediction on the last residuals (Vovk et al., "Algorithmic Learning in a Random World", 2005): the
    ``ceil((n + 1) quantile)``-th smallest of n residuals is added. It makes the safety margin explicit that an
    over-predicting model has by accident. A forecast is tried out after every
    sample, asked for or not.

    >>> from mead.queueing.forecasting.ewma import Ewma
    >>> upper = Conformal(Ewma(span=30), steps=6, quantile=0.9)
    >>> upper.observe(np.random.default_rng(1).poisson(100.0, 200).astype(float))
    >>> bool(101 < upper.forecast(6).mean() < 110)
    True
    """

    def __init__(self, forecaster: Forecaster, *, steps: int, quantile: float = 0.9) -> None:
        if not 0 < quantile < 1:
            raise ValueError(f"a quantile lies between 0 and 1; got {quantile:g}")
        self._forecaster, self._quantile = forecaster, quantile
        self._steps = steps
        self._outstanding = Outstanding(steps)
        self._residuals: deque[float] = deque(maxlen=KEPT)

    def observe(self, samples: FloatArray) -> None:
        """Learn from every forecast that is over, and make new ones."""
        for sample in checked(samples)[:, None]:
            self._residuals.extend(one.actual - one.forecast for one in self._outstanding.settle(sample))
            self._forecaster.observe(sample)
            self._outstanding.expect(float(self._forecaster.forecast(self._steps).mean()))

    @property
    def margin(self) -> float:
        """What is added to a forecast; 0 before the first one is over."""
        if not self._residuals:
            return 0.0
        rank = min(ceil((len(self._residuals) + 1) * self._quantile), len(self._residuals))
        return float(np.partition(self._residuals, rank - 1)[rank - 1])

    def forecast(self, steps: int) -> FloatArray:
        """The forecast and the margin."""
        return self._forecaster.forecast(steps) + self.margin
