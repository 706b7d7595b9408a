"""Readings of an engine since its last report: all that policies see of a running pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mead.arrays import FloatArray
from mead.values.allocation import Allocation


@dataclass(frozen=True)
class SampledTimes:
    """Count, sum and sum of squares of sampled times, which can be added up over instances and time.

    >>> gaps = SampledTimes(2, 4.0, 10.0) + SampledTimes(1, 5.0, 25.0)  # 1, 3 and 5 seconds
    >>> gaps.mean_s, round(gaps.scv, 4)
    (3.0, 0.2963)
    """

    count: int = 0
    sum_s: float = 0.0
    squares_s2: float = 0.0

    def __add__(self, other: SampledTimes) -> SampledTimes:
        return SampledTimes(self.count + other.count, self.sum_s + other.sum_s, self.squares_s2 + other.squares_s2)

    def since(self, before: SampledTimes) -> SampledTimes:
        """The times recorded since ``before``, an earlier state of the same sums."""
        return SampledTimes(
            self.count - before.count, self.sum_s - before.sum_s, max(self.squares_s2 - before.squares_s2, 0.0)
        )

    @property
    def mean_s(self) -> float | None:
        """The mean; None if nothing was recorded."""
        return self.sum_s / self.count if self.count else None

    @property
    def scv(self) -> float | None:
        """Variance over squared mean of the sample; None for fewer than two times, or if all were 0."""
        if self.count < 2 or self.sum_s <= 0:
            return None
        return max(self.squares_s2 * self.count / self.sum_s**2 - 1.0, 0.0)


NOTHING_SAMPLED = SampledTimes()


@dataclass(frozen=True)
class OperatorReading:
    """Readings of one operator since the last observation."""

    arrived: int
    completed: int
    backlog: int
    """Tuples waiting or in service now."""
    busy_s: float
    """CPU seconds of its workers."""
    batches: int = 0
    """Micro-batches that ended; 0 if unknown."""
    serving_s: float = 0.0
    """Their duration, from start to end, summed."""
    throttled_s: float = 0.0
    """Time in which its workers were ready to run but held back by their share, summed over CPUs; 0 if unknown."""
    iats: SampledTimes = NOTHING_SAMPLED
    """Sampled IATs of its tuples; empty if unknown."""
    services: SampledTimes = NOTHING_SAMPLED
    """Sampled service times of its tuples; empty if unknown."""


@dataclass(frozen=True)
class InputReading:
    """The inputs of which everything was done since the last observation: all tuples that came of them.

    On the way to paths without a requirement tuples do not count, if another path has one.
    """

    completed: int
    response_sum_s: float

    @property
    def mean_s(self) -> float | None:
        """Their mean response time, or None if there were none."""
        return self.response_sum_s / self.completed if self.completed else None


@dataclass(frozen=True)
class PathReading(InputReading):
    """The tuples that have left one path since the last observation."""

    late: int
    """Tuples that took longer than ``late_bound_s`` of the path's requirements; 0 if it has none."""
    beyond: Mapping[float, int] = field(default_factory=dict)
    """By bound of a percentile requirement, the tuples that took longer."""


@dataclass(frozen=True, eq=False)
class Observation:
    """The state of a pipeline at ``time_s``.

    ``missing`` says what could not be read, and why; it is empty if nothing is missing. Otherwise the loop keeps the
    allocation and does not call the policy.
    """

    time_s: float
    interval_s: float
    """Time since the observation before."""
    allocation: Allocation
    """The allocation in force, which can be older than the last plan."""
    operators: Mapping[str, OperatorReading]
    paths: Mapping[str, PathReading]
    iats_s: FloatArray = field(repr=False)
    """The last IATs at the source, oldest first."""
    counts: FloatArray = field(repr=False)
    """Arrivals at the source in the last ten minutes, in bins of ``COUNT_BIN_S``, oldest first."""
    missing: str = ""
    inputs: InputReading | None = None
    """Inputs of which everything is done; None if the engine does not know."""
    age_s: float = 0.0
    """Age of the readings when a policy gets them."""


COUNT_BIN_S = 0.1
"""Bursts shorter than this do not matter to a decision that is made once a second."""
