"""The interface of forecasters: observe samples, forecast the next ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Protocol

import numpy as np

from mead.arrays import FloatArray


class NothingObservedError(ValueError):
    """A forecast was asked for before there was a sample to make it from."""


class Forecaster(Protocol):
    """Looks at equally spaced samples, such as arrivals per 5 s, and says what the next ones will be.

    The PA-SPS policy uses the mean of a forecast alone (eq. 4). A trend may lead below zero; the policy,
    which knows that samples are counts, cuts the mean off there.
    """

    def observe(self, samples: FloatArray) -> None:
        """The samples that have come since the last call, oldest first."""

    def forecast(self, steps: int) -> FloatArray:
        """The next ``steps`` samples."""


class Windowed(ABC):
    """A forecaster that is fitted from scratch to the last few samples, whenever it is asked.

    With a window of 12 to 100 samples this takes less than a millisecond, neural network and forest aside. What it
    says is a function of the window alone.
    """

    def __init__(self, window: int) -> None:
        if window < 1:
            raise ValueError(f"a window holds at least 1 sample; got {window}")
        self._window: deque[float] = deque(maxlen=window)

    def observe(self, samples: FloatArray) -> None:
        """Keep the last of them."""
        self._window.extend(checked(samples).tolist())

    def forecast(self, steps: int) -> FloatArray:
        """The next ``steps`` samples."""
        if steps < 1:
            raise ValueError(f"a forecast is of at least 1 step; got {steps}")
        if not self._window:
            raise NothingObservedError("there is no forecast before the first sample")
        return self._beyond(np.array(self._window), steps)

    @abstractmethod
    def _beyond(self, window: FloatArray, steps: int) -> FloatArray:
        """The samples after the window."""


def checked(samples: FloatArray) -> FloatArray:
    """The samples as an array; raises ValueError unless all are finite numbers."""
    samples = np.asarray(samples, dtype=np.float64)
    if samples.ndim != 1 or not np.isfinite(samples).all():
        raise ValueError(f"samples are one row of finite numbers; got {samples}")
    return samples
