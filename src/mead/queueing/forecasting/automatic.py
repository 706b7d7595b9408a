"""Whichever forecaster has been best of late."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.forecasting.forecaster import Forecaster, checked
from mead.queueing.forecasting.outstanding import Outstanding

REMEMBERED = 10
"""How many forecasts of each candidate count: five minutes of intervals of 30 s."""


class Automatic:
    """Asks all candidates, and returns the forecast of the one whose mean relative error was smallest of late.

    No forecaster is best everywhere: on smooth ramps those that follow a trend win, on self-similar arrivals they are
    the worst. The error is that of the mean of ``steps`` samples, in forecasts that were asked for. Before the first
    one is over, the first candidate speaks.

    >>> from mead.queueing.forecasting.basic import Basic
    >>> from mead.queueing.forecasting.linear import Linear
    >>> best = Automatic({"basic": Basic(12), "lr": Linear(12)}, steps=2)
    >>> for start in range(0, 20, 2):
    ...     best.observe(np.arange(start, start + 2.0))
    ...     _ = best.forecast(2)
    >>> best.choice
    'lr'
    """

    def __init__(self, candidates: Mapping[str, Forecaster], *, steps: int) -> None:
        if not candidates:
            raise ValueError("there is nothing to choose from: name at least one candidate")
        self._candidates = dict(candidates)
        self._outstanding = {name: Outstanding(steps) for name in candidates}
        self._errors: dict[str, deque[float]] = {name: deque(maxlen=REMEMBERED) for name in candidates}

    def observe(self, samples: FloatArray) -> None:
        """Compare what the candidates have forecast with these samples."""
        samples = checked(samples)
        for name, candidate in self._candidates.items():
            self._errors[name].extend(
                abs(one.actual - one.forecast) / one.actual
                for one in self._outstanding[name].settle(samples)
                if one.actual > 0
            )
            candidate.observe(samples)

    @property
    def errors(self) -> dict[str, float]:
        """Mean relative error of late, by candidate; 0 for one that has not been put to the test."""
        return {name: float(np.mean(errors)) if errors else 0.0 for name, errors in self._errors.items()}

    @property
    def choice(self) -> str:
        """The candidate whose forecast is returned."""
        errors = self.errors
        return min(errors, key=errors.__getitem__)

    def forecast(self, steps: int) -> FloatArray:
        """The forecast of the best candidate. All are asked, so that they can be compared."""
        choice, said = self.choice, {}
        for name, candidate in self._candidates.items():
            said[name] = candidate.forecast(steps)
            self._outstanding[name].expect(float(np.maximum(said[name].mean(), 0.0)))
        return said[choice]
