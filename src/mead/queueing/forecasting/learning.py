"""Forecasters trained by scikit-learn: a random forest and a perceptron."""

from __future__ import annotations

import warnings
from functools import lru_cache

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.forecasting.forecaster import Windowed


class Forest(Windowed):
    """scikit-learn's RandomForestRegressor as PA-SPS uses it, with 100 trees.

    It is seeded, so that a run can be repeated.

    Trees cannot go beyond what they have seen: the forecast is nearly a constant near the last samples.

    >>> forest = Forest(window=12)
    >>> forest.observe(np.arange(12.0))
    >>> bool(np.ptp(forest.forecast(6)) == 0.0), bool(9 < forest.forecast(1)[0] <= 11)
    (True, True)
    """

    def _beyond(self, window: FloatArray, steps: int) -> FloatArray:
        return np.array(_grown(tuple(window.tolist()), steps))


REPO_SCALE = 1000.0
"""The number by which the authors' program divides its samples."""


class Perceptron(Windowed):
    """scikit-learn's MLPRegressor as PA-SPS uses it: 100 rectifiers, Adam, 1,000 epochs at most, seed 1.

    Index and samples are standardised. With ``repo_compat`` they are as in the authors' program: samples divided by
    1,000, the index as it is. Then the answer depends on the unit of the samples: the optimiser overshoots on the
    large index, and training stops wherever it is after ten epochs. The same data times 10 or 100 give another
    forecast, often one that is far too high.

    >>> flat = Perceptron(window=12)
    >>> flat.observe(np.full(12, 70.0))
    >>> flat.forecast(2).round(6).tolist()
    [70.0, 70.0]
    """

    def __init__(self, window: int, *, repo_compat: bool = False) -> None:
        super().__init__(window)
        self.repo_compat = repo_compat

    def _beyond(self, window: FloatArray, steps: int) -> FloatArray:
        index = np.arange(window.size + steps, dtype=np.float64)
        if self.repo_compat:
            return REPO_SCALE * _trained_once(index, window / REPO_SCALE)
        scale = float(window.std())
        if scale == 0:
            return np.full(steps, window[0])
        index = (index - index[: window.size].mean()) / index[: window.size].std()
        target = (window - window.mean()) / scale
        return np.asarray(window.mean() + scale * _trained_once(index, target))


def _trained_once(index: FloatArray, target: FloatArray) -> FloatArray:
    return np.array(_trained(tuple(index.tolist()), tuple(target.tolist())))


TRAINED_WINDOWS = 512
"""Windows whose forecasts are kept: training takes 0.2 s, and an experiment runs the same arrivals several times."""


@lru_cache(TRAINED_WINDOWS)
def _grown(window: tuple[float, ...], steps: int) -> FloatArray:
    """Train a forest on the window and predict the next steps."""
    from sklearn.ensemble import RandomForestRegressor  # noqa: PLC0415 - takes a second to load

    index = np.arange(len(window) + steps, dtype=np.float64)[:, None]
    forest = RandomForestRegressor(random_state=1).fit(index[: len(window)], np.array(window))
    return np.asarray(forest.predict(index[len(window) :]))


@lru_cache(TRAINED_WINDOWS)
def _trained(index: tuple[float, ...], target: tuple[float, ...]) -> FloatArray:
    """Train a network on the window and predict the rest of the index.

    scikit-learn takes a second to load, so it is imported here.
    """
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - see above
    from sklearn.neural_network import MLPRegressor  # noqa: PLC0415 - see above

    column = np.array(index)[:, None]
    network = MLPRegressor(random_state=1, max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 1,000 epochs are what PA-SPS gives it
        network.fit(column[: len(target)], np.array(target))
    return np.asarray(network.predict(column[len(target) :]))
