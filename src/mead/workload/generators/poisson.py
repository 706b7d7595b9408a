"""Poisson arrivals: independent of each other, with no burstiness at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mead.workload.generators.kind import Endless, check_positive, option
from mead.workload.generators.segments import Segment, block_sizes, poisson_segment


@dataclass(frozen=True, kw_only=True)
class Poisson(Endless):
    """Independent arrivals at one rate: exponential inter-arrival times.

    >>> len(Poisson(rate_per_s=100.0, count=1000).generate(np.random.default_rng(1)))
    1000
    """

    rate_per_s: float = option("mean arrivals per second")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(rate_per_s=self.rate_per_s)

    @property
    def mean_rate_per_s(self) -> float:
        """The one rate."""
        return self.rate_per_s

    def segments(self, rng: np.random.Generator) -> Iterator[Segment]:
        """Stretches of about as many arrivals as there are in a block."""
        for block in block_sizes():
            yield poisson_segment(self.rate_per_s, block / self.rate_per_s, rng)
