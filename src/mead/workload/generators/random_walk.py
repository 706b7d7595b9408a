"""A rate that wanders: Poisson arrivals whose mean inter-arrival time is a lognormal random walk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mead.workload.generators.kind import Endless, GeneratorError, check_positive, option
from mead.workload.generators.segments import Segment, poisson_segment


@dataclass(frozen=True, kw_only=True)
class RandomWalk(Endless):
    """Poisson arrivals at a rate that is multiplied by a lognormal factor every few seconds, within bounds.

    The stream RW-DS of Mencagli, Torquati and Danelutto, "Elastic-PPQ" (2018), section 6: 5 million tuples, start at
    5,000/s, standard deviation 0.4 of the logarithm, inter-arrival times held between 16 and 300 microseconds.
    The paper says 5 s per phase, the published stream has 3 s; we take the stream.

    >>> walk = RandomWalk(count=10).rates_per_s(np.random.default_rng(1))
    >>> [round(next(walk)) for _ in range(4)]
    [5000, 4354, 3333, 3333]
    """

    rate_per_s: float = option("arrivals per second in the first phase", default=5_000.0)
    sigma: float = option("standard deviation of the step of the logarithm of the rate", default=0.4)
    phase_s: float = option("seconds between two steps", default=3.0)
    lowest_per_s: float = option("the rate never falls below this", default=1e6 / 300)
    highest_per_s: float = option("the rate never rises above this", default=1e6 / 16)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(
            rate_per_s=self.rate_per_s,
            sigma=self.sigma,
            phase_s=self.phase_s,
            lowest_per_s=self.lowest_per_s,
            highest_per_s=self.highest_per_s,
        )
        if not self.lowest_per_s <= self.rate_per_s <= self.highest_per_s:
            raise GeneratorError(
                f"rate_per_s must lie between lowest_per_s and highest_per_s; "
                f"got {self.rate_per_s:g} and {self.lowest_per_s:g} to {self.highest_per_s:g}"
            )

    def rates_per_s(self, rng: np.random.Generator) -> Iterator[float]:
        """The rate of one phase after the other."""
        rate = self.rate_per_s
        while True:
            yield rate
            step = np.exp(rng.normal(0.0, self.sigma))
            rate = float(np.clip(rate / step, self.lowest_per_s, self.highest_per_s))

    def segments(self, rng: np.random.Generator) -> Iterator[Segment]:
        """One phase after the other."""
        for rate in self.rates_per_s(rng):
            yield poisson_segment(rate, self.phase_s, rng)
