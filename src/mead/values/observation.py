"""Readings of an engine since its last report: all that policies see of a running pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mead.arrays import FloatArray
from mead.values.allocation import Allocation
from mead.values.samples import NOTHING_SAMPLED, SampledTimes


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
