"""What an engine reports of the time since the last report: the only thing that policies see of a running pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mead.arrays import FloatArray
from mead.values.allocation import Allocation
from mead.values.samples import NOTHING_SAMPLED, SampledTimes


@dataclass(frozen=True)
class OperatorReading:
    """One operator, since the last observation."""

    arrived: int
    completed: int
    backlog: int
    """Tuples waiting or in service now."""
    busy_s: float
    """CPU seconds that its workers have used."""
    batches: int = 0
    """Micro-batches that ended; 0 where the engine does not tell."""
    serving_s: float = 0.0
    """How long these took, from start to end."""
    throttled_s: float = 0.0
    """How long its workers were ready to run and were held back by their share: the sum over CPUs. 0 where nothing is
    measured."""
    iats: SampledTimes = NOTHING_SAMPLED
    """Sampled IATs of its tuples; empty where the engine does not report them."""
    services: SampledTimes = NOTHING_SAMPLED
    """Sampled service times of its tuples; empty where the engine does not report them."""


@dataclass(frozen=True)
class PathReading:
    """The tuples that have left one path since the last observation."""

    completed: int
    response_sum_s: float
    late: int
    """How many took longer than ``late_bound_s`` of what is required of the path: the strictest bound of a percentile,
    or else of the mean; 0 if nothing is required."""
    beyond: Mapping[float, int] = field(default_factory=dict)
    """By bound, how many took longer; for the bounds of all percentile requirements on the path."""

    @property
    def mean_s(self) -> float | None:
        """Their mean response time, or None if there were none."""
        return self.response_sum_s / self.completed if self.completed else None


@dataclass(frozen=True, eq=False)
class Observation:
    """The state of a pipeline at ``time_s``.

    ``missing`` says what could not be read, and why; empty if all is there. Otherwise the loop keeps what is in force,
    and no policy is asked.
    """

    time_s: float
    interval_s: float
    """Time since the observation before."""
    allocation: Allocation
    """What is in force, which can be older than the last plan."""
    operators: Mapping[str, OperatorReading]
    paths: Mapping[str, PathReading]
    iats_s: FloatArray = field(repr=False)
    """The last IATs at the source, oldest first, as many as the monitor keeps."""
    counts: FloatArray = field(repr=False)
    """Arrivals at the source in the last ten minutes, in bins of ``COUNT_BIN_S``, oldest first."""
    missing: str = ""
    age_s: float = 0.0
    """How old the readings are when a policy gets them."""


COUNT_BIN_S = 0.1
"""Bursts shorter than this do not matter to a decision that is made once a second."""
