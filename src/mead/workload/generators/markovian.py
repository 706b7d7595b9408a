"""Arrivals of a MAP, given by its matrices, by rate and index of dispersion, or by its bursts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from mead.queueing import MAP, InvalidMAPError
from mead.workload.generators.kind import Endless, GeneratorError, check_positive, option
from mead.workload.generators.segments import Segment, map_segments

USUAL_RATIO = 4.0
"""Fast over mean rate. The generator of Elastic-PPQ uses 4.0004 for every index of dispersion above 205."""

LARGEST_LEAVE_SLOW = 0.5
"""For a small index of dispersion the ratio is lowered until the slow state lasts two arrivals on average."""


@dataclass(frozen=True, kw_only=True)
class Markovian(Endless):
    """Arrivals of a Markovian arrival process, given by rate and index of dispersion, or by its two matrices.

    >>> source = Markovian(rate_per_s=10_000.0, idc=1_000.0, count=10)
    >>> source.map.idc([0.01, 0.1, 1.0]).round().tolist()
    [196.0, 781.0, 978.0]
    """

    rate_per_s: float | None = option("mean arrivals per second; with matrices, rescales them", default=None)
    idc: float | None = option("index of dispersion for counts in the limit, above 1; two states", default=None)
    ratio: float | None = option("fast rate over mean rate; 4, or less where a small idc asks for it", default=None)
    D0: Sequence[Sequence[float]] | None = option("matrix of rates without an arrival, 1/s", default=None)
    D1: Sequence[Sequence[float]] | None = option("matrix of rates with an arrival, 1/s", default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            if self.rate_per_s is not None:
                check_positive(rate_per_s=self.rate_per_s)
            self.map  # noqa: B018 - refuse an invalid MAP here, before arrivals are drawn
        except InvalidMAPError as error:
            raise GeneratorError(str(error)) from error
        check_positive(rate_per_s=self.mean_rate_per_s)

    @property
    def mean_rate_per_s(self) -> float:
        """Rate of the process."""
        return self.map.rate_per_s

    @cached_property
    def map(self) -> MAP:
        """The arrival process."""
        if self.D0 is not None and self.D1 is not None and self.idc is None and self.ratio is None:
            given = MAP(self.D0, self.D1)
            return given if self.rate_per_s is None else given.with_rate(self.rate_per_s)
        if self.D0 is None and self.D1 is None and self.rate_per_s is not None and self.idc is not None:
            return MAP.two_state(self.rate_per_s, self.idc, ratio=self.ratio or largest_ratio(self.idc))
        raise GeneratorError("a MAP needs either rate_per_s and idc, or both matrices D0 and D1")

    def segments(self, rng: np.random.Generator) -> Iterator[Segment]:
        """Yield segments, from a random time if a duration is given, from a random arrival if a count is given."""
        start = self.map.time_stationary if self.count is None else self.map.arrival_stationary
        return map_segments(self.map, start, rng)


def largest_ratio(idc: float) -> float:
    """Return the usual ratio, or the largest F that leaves the slow state with probability at most one half.

    ``2 (F-1)^2 / ((1+F) (I-1)) = p`` is a quadratic in F (closed form of ``MAP.two_state``).

    >>> largest_ratio(1000.0), round(largest_ratio(2.0), 3)
    (4.0, 1.843)
    """
    c = LARGEST_LEAVE_SLOW * max(idc - 1, 0) / 2
    return min(USUAL_RATIO, 1 + c / 2 + sqrt(c * c / 4 + 2 * c))


@dataclass(frozen=True)
class Bursts:
    """An MMPP(2): Poisson arrivals at a calm and at a burst rate, in turns of exponential length.

    >>> round(Bursts(calm_per_s=100.0, burst_per_s=400.0, mean_calm_s=2.0, mean_burst_s=1.0).map.rate_per_s, 9)
    200.0
    """

    calm_per_s: float
    burst_per_s: float
    mean_calm_s: float
    mean_burst_s: float

    @cached_property
    def map(self) -> MAP:
        """The MAP of Heffes and Lucantoni (1986), section II: rates on the diagonal of D1, switching in D0."""
        rates = np.diag([self.calm_per_s, self.burst_per_s])
        start, stop = 1 / self.mean_calm_s, 1 / self.mean_burst_s
        return MAP(np.array([[-start, start], [stop, -stop]]) - rates, rates)
