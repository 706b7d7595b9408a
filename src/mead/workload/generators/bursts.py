"""The MMPP(2) of calm and bursts, in the words in which people describe bursts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mead.queueing import MAP


@dataclass(frozen=True)
class Bursts:
    """Poisson arrivals at a calm rate, interrupted by bursts at a higher one; both last exponential times.

    >>> round(Bursts(calm_per_s=100.0, burst_per_s=400.0, mean_calm_s=2.0, mean_burst_s=1.0).map.rate_per_s, 9)
    200.0
    """

    calm_per_s: float
    burst_per_s: float
    mean_calm_s: float
    mean_burst_s: float

    @cached_property
    def map(self) -> MAP:
        """Heffes and Lucantoni (1986), section II: rates on the diagonal of D1, switching in D0."""
        rates = np.diag([self.calm_per_s, self.burst_per_s])
        start, stop = 1 / self.mean_calm_s, 1 / self.mean_burst_s
        return MAP(np.array([[-start, start], [stop, -stop]]) - rates, rates)
