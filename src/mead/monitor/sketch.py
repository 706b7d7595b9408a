"""A mergeable sketch of response times that gives percentiles within one percent.

Values are counted in buckets whose bounds rise by a constant factor, which bounds the relative error of every
percentile: Masson, Rim and Lee, "DDSketch" (VLDB 2019), section 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil, log

import numpy as np

from mead.arrays import FloatArray

ERROR = 0.01
FACTOR = (1 + ERROR) / (1 - ERROR)
LEAST_S, MOST_S = 1e-4, 1e5
"""Shorter and longer response times count as these."""

BUCKETS = ceil(log(MOST_S / LEAST_S) / log(FACTOR)) + 1


@dataclass
class ResponseSketch:
    """A sketch of response times. Percentiles are within one percent of the exact ones.

    >>> sketch = ResponseSketch()
    >>> sketch.add(np.linspace(0.0, 2.0, 2001))
    >>> round(sketch.mean_s, 9), round(sketch.percentile_s(95), 2)
    (1.0, 1.9)
    """

    counts: FloatArray = field(default_factory=lambda: np.zeros(BUCKETS), repr=False)
    total: float = 0.0
    sum_s: float = 0.0

    def add(self, values_s: FloatArray, weights: FloatArray | float = 1.0) -> None:
        """Add values with their weights."""
        weights = np.broadcast_to(np.asarray(weights, dtype=float), values_s.shape)
        clipped_s = np.clip(values_s, LEAST_S, MOST_S)
        buckets = np.ceil(np.log(clipped_s / LEAST_S) / log(FACTOR)).astype(np.int64)
        self.counts += np.bincount(buckets, weights, BUCKETS)
        self.total += float(weights.sum())
        self.sum_s += float(values_s @ weights)

    @classmethod
    def merged(cls, parts: Iterable[ResponseSketch]) -> ResponseSketch:
        """The sketch of all values of the parts."""
        whole = cls()
        for part in parts:
            whole.counts += part.counts
            whole.total += part.total
            whole.sum_s += part.sum_s
        return whole

    @property
    def mean_s(self) -> float | None:
        """Mean of all values; None if there are none."""
        return self.sum_s / self.total if self.total else None

    def percentile_s(self, percent: float) -> float | None:
        """The percentile; None if there are no values."""
        if not self.total:
            return None
        rank = percent / 100 * self.total
        bucket = int(np.searchsorted(np.cumsum(self.counts), rank - 1e-9 * self.total))
        # The point of the bucket with the same relative distance to both bounds.
        return float(LEAST_S * FACTOR**bucket * 2 / (1 + FACTOR))
