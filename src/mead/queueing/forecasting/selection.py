"""Forecasters that learn from how their past forecasts came out."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.forecasting.forecaster import Forecaster, checked


@dataclass(frozen=True)
class Settled:
    """The mean of a few samples, as it was foreseen and as it came."""

    forecast: float
    actual: float


class Outstanding:
    """Forecasts of the mean of the next ``steps`` samples, kept until they are over.

    Each is handed back with the mean that was observed.

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
        """The forecasts that end with these samples, each with the observed mean."""
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


REMEMBERED = 10
"""How many forecasts of each candidate count: five minutes of intervals of 30 s."""


class Automatic:
    """Returns the forecast of the candidate with the smallest recent error.

    No forecaster is best everywhere: on smooth ramps those that follow a trend win, on self-similar arrivals they are
    the worst. The error is that of the mean of ``steps`` samples, in forecasts that were asked for. Before the first
    one is over, the first candidate speaks.

    >>> from mead.queueing.forecasting.extrapolation import Basic
    >>> from mead.queueing.forecasting.extrapolation import Linear
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
        """Recent mean relative error by candidate; 0 before its first comparison."""
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


KEPT = 300
"""How many of the last residuals the margin is made from."""


class Conformal:
    """Raises forecasts to an upper quantile of the mean of ``steps`` samples.

    Split conformal prediction on the last residuals (Vovk et al., "Algorithmic Learning in a Random World", 2005): the
    ``ceil((n + 1) quantile)``-th smallest of n residuals is added. It makes the safety margin explicit that an
    over-predicting model has by accident. A forecast is tried out after every
    sample, asked for or not.

    >>> from mead.queueing.forecasting.extrapolation import Ewma
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
        """The margin added to a forecast; 0 before the first one is over."""
        if not self._residuals:
            return 0.0
        rank = min(ceil((len(self._residuals) + 1) * self._quantile), len(self._residuals))
        return float(np.partition(self._residuals, rank - 1)[rank - 1])

    def forecast(self, steps: int) -> FloatArray:
        """The forecast and the margin."""
        return self._forecaster.forecast(steps) + self.margin
