"""Courses of arrivals to look ahead through: the recent past once more, or what the fitted MAP may bring."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Literal

import numpy as np

from mead.arrays import FloatArray
from mead.queueing import MAP, WindowFit, fit_calibrated
from mead.values import COUNT_BIN_S, Observation

LEAST_TO_FIT = 1000
"""IATs that it takes to fit a MAP. From fewer it is a guess; until then only the past is used."""

REFIT_S = 60.0
SAMPLED_S = 600.0
"""The length of a course that is drawn from a MAP."""

SEED = 0


@dataclass
class Futures:
    """The past, samples of the MAP that fits it best, or both. The same seed draws the same samples."""

    kind: Literal["replay", "map", "both"]
    window: int
    _fit: WindowFit | None = field(default=None, repr=False)
    _fitted_s: float = -inf
    _rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(SEED), repr=False)

    def courses(self, observation: Observation, past: FloatArray) -> list[FloatArray]:
        """Courses of arrivals, in tuples per bin, of which the worst counts; ``past`` is the observed one."""
        iats_s = observation.iats_s[-self.window :]
        if self.kind == "replay" or iats_s.size < LEAST_TO_FIT:
            return [past]
        if self._fit is None or observation.time_s >= self._fitted_s + REFIT_S:
            self._fit = fit_calibrated(iats_s, best=1, seed=SEED, previous=self._fit)
            self._fitted_s = observation.time_s
        sampled = self._sampled(self._fit.models[0].map)
        return [sampled] if self.kind == "map" else [past, sampled]

    def _sampled(self, arrivals: MAP) -> FloatArray:
        times_s = np.cumsum(arrivals.sample(int(arrivals.rate_per_s * SAMPLED_S) + 1, self._rng))
        times_s = times_s[times_s < SAMPLED_S]
        return np.bincount((times_s / COUNT_BIN_S).astype(int), minlength=round(SAMPLED_S / COUNT_BIN_S)).astype(float)
