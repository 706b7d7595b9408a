"""Forecasters fitted by formulas: repetition, line, level, Fourier, AR(5)."""

from __future__ import annotations

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.forecasting.forecaster import NothingObservedError, Windowed, checked


class Basic(Windowed):
    """The last samples, unchanged: what PSPS uses, and what every other forecaster has to be better than.

    >>> basic = Basic(window=12)
    >>> basic.observe(np.array([5.0, 1.0, 2.0, 3.0]))
    >>> basic.forecast(2).tolist(), basic.forecast(6).tolist()
    ([2.0, 3.0], [5.0, 1.0, 2.0, 3.0, 5.0, 1.0])
    """

    def _beyond(self, window: FloatArray, steps: int) -> FloatArray:
        return np.resize(window[-steps:], steps)


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


class Ewma:
    """An exponentially weighted moving average of the samples.

    The weight of a sample halves about every third of the span.

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


TREND_DEGREE = 3
KEPT_FREQUENCIES = 10
"""Complex ones; those of a real series come in pairs."""


class Fourier(Windowed):
    """The FFT model of the darts library as PA-SPS uses it: ten frequencies, the window as period.

    The authors' program asks for ``trend="poly"``, a cubic. It runs away beyond its window: on arrivals without a trend
    this is the worst of all. The paper says that it keeps the defaults of darts, which fit no trend (``degree=None``).

    >>> squares = Fourier(window=8)
    >>> squares.observe(np.arange(8.0) ** 2)
    >>> squares.forecast(2).round(6).tolist()
    [64.0, 81.0]
    >>> swing = Fourier(window=4, degree=None)
    >>> swing.observe(np.array([5.0, 9.0, 5.0, 1.0]))
    >>> swing.forecast(6).round(6).tolist()
    [5.0, 9.0, 5.0, 1.0, 5.0, 9.0]
    """

    def __init__(self, window: int, *, degree: int | None = TREND_DEGREE) -> None:
        super().__init__(window)
        self._degree = degree

    def _beyond(self, window: FloatArray, steps: int) -> FloatArray:
        index = np.arange(window.size, dtype=np.float64)
        if self._degree is None:
            trend = np.polynomial.Polynomial([0.0])
        else:
            trend = np.polynomial.Polynomial.fit(index, window, min(self._degree, window.size - 1))
        spectrum = np.fft.fft(window - trend(index))
        strength = np.abs(spectrum)
        equal = np.round(strength / max(strength.max(), np.finfo(float).tiny), 9)  # rounding must not decide
        spectrum[np.argsort(-equal, kind="stable")[KEPT_FREQUENCIES:]] = 0.0
        ahead = np.arange(window.size, window.size + steps)
        return np.asarray(trend(ahead) + np.fft.ifft(spectrum).real[ahead % window.size])


ORDER = 5
RIDGE = 1.0
"""Keeps the coefficients small where the window says little about them; the samples are standardised. So five lags are
sound even in the 12 samples of PA-SPS, which leave seven equations for five coefficients."""


class Autoregressive(Windowed):
    """Ridge regression on the last samples, continued step by step.

    Far ahead, the forecast returns to the mean of the window.

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
