"""AR(5): the next sample from the five before it."""

from __future__ import annotations

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.forecasting.forecaster import Windowed

ORDER = 5
RIDGE = 1.0
"""Keeps the coefficients small where the window says little about them; the samples are standardised. So five lags are
sound even in the 12 samples of PA-SPS, which leave seven equations for five coefficients."""


class Autoregressive(Windowed):
    """Ridge regression on the last samples, carried on step by step. It returns to the mean of the window.

    Of fewer than ten samples, no more than half are lags.

    >>> swing = Autoregressive(window=40)
    >>> swing.observe(np.tile([1.0, 3.0], 20))
    >>> swing.forecast(2).round(1).tolist()
    [1.0, 3.0]
    """

    def _beyond(self, window: FloatArray, steps: int) -> FloatArray:
        mean, scale = float(window.mean()), float(window.std())
        order = min(ORDER, window.size // 2)
        if scale == 0 or order == 0:
            return np.full(steps, mean)
        standard = (window - mean) / scale
        lags = np.lib.stride_tricks.sliding_window_view(standard, order)
        past, next_ = lags[:-1], standard[order:]
        weights = np.linalg.solve(past.T @ past + RIDGE * np.eye(order), past.T @ next_)
        state = standard[-order:].copy()
        ahead = np.empty(steps)
        for step in range(steps):
            ahead[step] = np.clip(weights @ state, standard.min(), standard.max())  # an unstable fit must not explode
            state = np.append(state[1:], ahead[step])
        return np.asarray(mean + scale * ahead)
