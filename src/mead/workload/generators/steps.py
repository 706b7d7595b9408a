"""A rate that jumps: Poisson arrivals at one given rate after the other."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np

from mead.workload.generators.kind import GeneratorError, check_expected, check_positive, option, trace_of
from mead.workload.generators.segments import joined, poisson_segment
from mead.workload.trace import Trace


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Poisson arrivals at a list of rates, each for the same time.

    By default the artificial stream of Mencagli, Torquati and Danelutto, "Elastic-PPQ" (2018), Fig. 9: six steps
    of 30 s between 40,000 and 80,000/s.

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
        """Arrivals for as many steps as there are rates."""
        return trace_of(joined([poisson_segment(rate, self.step_s, rng) for rate in self.rates_per_s]))
