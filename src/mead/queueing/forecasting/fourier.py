"""FFT: a cubic trend, and the strongest frequencies of what is left, repeated."""

from __future__ import annotations

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.forecasting.forecaster import Windowed

TREND_DEGREE = 3
KEPT_FREQUENCIES = 10
"""Complex ones; those of a real series come in pairs."""


class Fourier(Windowed):
    """The FFT model of the darts library as PA-SPS uses it: ``trend="poly"``, ten frequencies, the window as period.

    A cubic runs away beyond its window: on arrivals without a trend this is the worst of all.

    >>> squares = Fourier(window=8)
    >>> squares.observe(np.arange(8.0) ** 2)
    >>> squares.forecast(2).round(6).tolist()
    [64.0, 81.0]
    """

    def _beyond(self, window: FloatArray, steps: int) -> FloatArray:
        index = np.arange(window.size, dtype=np.float64)
        trend = np.polynomial.Polynomial.fit(index, window, min(TREND_DEGREE, window.size - 1))
        spectrum = np.fft.fft(window - trend(index))
        spectrum[np.argsort(np.abs(spectrum))[:-KEPT_FREQUENCIES]] = 0.0
        ahead = np.arange(window.size, window.size + steps)
        return np.asarray(trend(ahead) + np.fft.ifft(spectrum).real[ahead % window.size])
