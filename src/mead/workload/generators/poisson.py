"""Poisson arrivals at a constant rate, at rates in steps, or at a rate that drifts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

import numpy as np

from mead.workload.generators.kind import Endless, GeneratorError, check_expected, check_positive, option, trace_of
from mead.workload.generators.segments import Segment, block_sizes, joined, poisson_segment
from mead.workload.trace import Trace

LOWEST_OF_FIRST, HIGHEST_OF_FIRST = 200 / 300, 200 / 16
"""The bounds of RW-DS, 300 and 16 microseconds, over the inter-arrival time of its start, 200 microseconds."""


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
        """Rate of the process."""
        return self.rate_per_s

    def segments(self, rng: np.random.Generator) -> Iterator[Segment]:
        """Yield segments of about one block of arrivals each."""
        for block in block_sizes():
            yield poisson_segment(self.rate_per_s, block / self.rate_per_s, rng)


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Poisson arrivals at a list of rates, each for the same time.

    The default is the artificial stream of Mencagli, Torquati and Danelutto, "Elastic-PPQ" (2018), Fig. 9: six
    steps of 30 s between 40,000 and 80,000/s.

    >>> trace = Steps(rates_per_s=(10.0, 1000.0), step_s=2.0).generate(np.random.default_rng(1))
    >>> [int(n) for n in np.histogram(trace.timestamps_us, [0, 2e6, 4e6])[0]]
    [17, 2005]
    """

    rates_per_s: tuple[float, ...] = option(
        "arrivals per second in each step", default=(40e3, 50e3, 70e3, 80e3, 60e3, 40e3)
    )
    step_s: float = option("seconds per step", default=30.0)

    def __post_init__(self) -> None:
        check_positive(step_s=self.step_s)
        if not self.rates_per_s:
            raise GeneratorError("rates_per_s must name at least one rate")
        for rate in self.rates_per_s:
            if not (isfinite(rate) and rate >= 0):
                raise GeneratorError(f"rates_per_s must be finite numbers, 0 for silence; got {rate:g}")
        check_expected(sum(self.rates_per_s) * self.step_s, "ask for lower rates or shorter steps")

    def generate(self, rng: np.random.Generator) -> Trace:
        """Generate one step per rate."""
        return trace_of(joined([poisson_segment(rate, self.step_s, rng) for rate in self.rates_per_s]))


@dataclass(frozen=True, kw_only=True)
class RandomWalk(Endless):
    """Poisson arrivals at a rate that follows a lognormal random walk within bounds.

    The stream RW-DS of Mencagli, Torquati and Danelutto, "Elastic-PPQ" (2018), section 6: 5 million tuples, start at
    5,000/s, standard deviation 0.4 of the logarithm, inter-arrival times held between 16 and 300 microseconds.
    The paper says 5 s per phase; the published stream has 3 s, as here.

    >>> walk = RandomWalk(count=10).rates_per_s(np.random.default_rng(1))
    >>> [round(next(walk)) for _ in range(4)]
    [5000, 4354, 3333, 3333]
    """

    rate_per_s: float = option("arrivals per second in the first phase", default=5_000.0)
    sigma: float = option("standard deviation of the step of the logarithm of the rate", default=0.4)
    phase_s: float = option("seconds between two steps", default=3.0)
    lowest_per_s: float | None = option("the rate never falls below this; 2/3 of the first rate", default=None)
    highest_per_s: float | None = option("the rate never rises above this; 12.5 times the first rate", default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(rate_per_s=self.rate_per_s, sigma=self.sigma, phase_s=self.phase_s)
        lowest, highest = self.bounds_per_s
        check_positive(lowest_per_s=lowest, highest_per_s=highest)
        if not lowest <= self.rate_per_s <= highest:
            raise GeneratorError(
                f"rate_per_s must lie between lowest_per_s and highest_per_s; "
                f"got {self.rate_per_s:g} and {lowest:g} to {highest:g}"
            )
        check_expected(highest * self.phase_s, "make phase_s shorter")

    @property
    def mean_rate_per_s(self) -> float:
        """Rate of the first phase; the later ones are random."""
        return self.rate_per_s

    @property
    def bounds_per_s(self) -> tuple[float, float]:
        """Lowest and highest rate: the given ones, or the published ones in proportion."""
        lowest = self.rate_per_s * LOWEST_OF_FIRST if self.lowest_per_s is None else self.lowest_per_s
        highest = self.rate_per_s * HIGHEST_OF_FIRST if self.highest_per_s is None else self.highest_per_s
        return lowest, highest

    def rates_per_s(self, rng: np.random.Generator) -> Iterator[float]:
        """Yield the rate of each phase."""
        rate = self.rate_per_s
        while True:
            yield rate
            step = np.exp(rng.normal(0.0, self.sigma))
            rate = float(np.clip(rate / step, *self.bounds_per_s))

    def segments(self, rng: np.random.Generator) -> Iterator[Segment]:
        """Yield one segment per phase."""
        for rate in self.rates_per_s(rng):
            yield poisson_segment(rate, self.phase_s, rng)
