"""Runs, rounds and decisions as read from a history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mead.values import (
    Allocation,
    Cause,
    OperatorReading,
    PathReading,
    Pipeline,
    Prediction,
    surprising,
    times_predicted,
)

ROUND_INTERVAL = "round_interval_s"
"""The key of the time between two rounds among the options of a run. The options of a policy need not have it: a
user's own policy may have none, and a policy with two levels makes rounds more often than plans."""


@dataclass(frozen=True)
class PastRun:
    """One run: pipeline, policy, and the numbers of rounds, changes and errors."""

    number: int
    name: str
    pipeline: Pipeline
    policy: str
    options: Mapping[str, Any]
    engine: str
    mode: str
    workload: str
    started: str
    finished: bool
    """False while the run goes on, or if it was killed."""
    rounds: int
    changes: int
    errors: int
    duration_s: float
    """Up to the last round that was written."""

    @property
    def interval_s(self) -> float | None:
        """Seconds between two rounds; None if that was not recorded."""
        found = self.options.get(ROUND_INTERVAL, self.options.get("interval_s"))
        return float(found) if isinstance(found, int | float) and found > 0 else None


@dataclass(frozen=True)
class InForce:
    """Response times of a path under the allocation in force after a decision, whether it was the plan or not."""

    predicted_mean_s: float | None
    """The prediction of the policy's model; None if there is none, or it sees overload."""
    mean_s: float | None
    """The mean of the tuples that left until the next decision; None if there were none."""

    @property
    def times(self) -> float | None:
        """Observed over predicted mean, where there are both."""
        return times_predicted(self.predicted_mean_s, self.mean_s)


NOT_CHECKED = InForce(None, None)


@dataclass(frozen=True)
class Checked:
    """Observed and predicted response times of the same tuples, as sums, so that runs can be added up."""

    seen_s: float
    expected_s: float

    @property
    def error(self) -> float | None:
        """Observed over predicted mean response time, less 1.

        >>> Checked(seen_s=3.0, expected_s=2.0).error
        0.5
        >>> (Checked(seen_s=3.0, expected_s=2.0) + Checked(seen_s=1.0, expected_s=2.0)).error
        0.0
        """
        return self.seen_s / self.expected_s - 1 if self.expected_s > 0 else None

    def __add__(self, other: Checked) -> Checked:
        return Checked(self.seen_s + other.seen_s, self.expected_s + other.expected_s)


def errors_of(checked: Mapping[str, Checked]) -> dict[str, float]:
    """By path, the error of the model, if known."""
    errors = {path: one.error for path, one in checked.items()}
    return {path: error for path, error in errors.items() if error is not None}


@dataclass(frozen=True)
class Effect:
    """The prediction for a path at a decision, and the response times until the next decision."""

    path: str
    predicted: Prediction | None
    completed: int
    mean_s: float | None
    """The mean of the tuples that left in that time; None if there were none, or the plan was not applied."""
    late: int
    lasted_s: float | None = None
    """Seconds from the decision to the last readings before the next one; None if there were none."""
    in_force: InForce = NOT_CHECKED

    @property
    def times(self) -> float | None:
        """Observed over predicted mean, where there are both."""
        return times_predicted(None if self.predicted is None else self.predicted.mean_s, self.mean_s)

    @property
    def surprising(self) -> bool:
        """Whether the observed mean is far from the prediction, and was observed for long enough."""
        return surprising(self.times, self.lasted_s)


@dataclass(frozen=True)
class Decision:
    """The decision of one round, and its effects."""

    round: int
    time_s: float
    before: Allocation | None
    """The allocation in force, or ordered, before the round; None if unknown."""
    after: Allocation | None
    """The planned allocation; None in mode observe."""
    target: Allocation | None
    """The allocation that the policy wanted before bounds and planning rules."""
    changed: bool
    """Whether the plan differs from the allocation in force, or from the last advice."""
    applied: bool
    reason: str
    missing: str
    error: str
    effects: tuple[Effect, ...]
    caution: float = 1.0
    """Factor by which bounds were tightened."""
    cause: Cause = Cause.UNSAID
    """The reason in one word."""
    changes: int = 0
    """How many changes it stands for: the last one of an old half-minute stands for all."""
    rounds: int = 1
    """How many rounds it stands for."""


@dataclass(frozen=True)
class Merged:
    """Sums over old rounds that were merged into one row."""

    changes: int
    cautious: int
    """Rounds with a caution above 1."""
    lasted_s: float
    """Time from each of the rounds until the next, as are the core-seconds."""
    core_s: Mapping[str, float]
    """Core-seconds in force, by operator."""
    planned_core_s: Mapping[str, float]
    surprises: Mapping[str, int] | None
    """By path, surprising effects of the changes up to the last one; None if the rows still tell them."""

    def cores(self, operator: str) -> float | None:
        """The average of the cores in force; None if they are unknown."""
        return self.core_s[operator] / self.lasted_s if operator in self.core_s and self.lasted_s > 0 else None


@dataclass(frozen=True)
class PastRound:
    """The readings of one round, without missing ones, and the costs learned up to it."""

    round: int
    time_s: float
    observed_s: float | None
    interval_s: float | None
    rate_per_s: float | None
    missing: str
    error: str
    in_force: Allocation | None
    """The allocation in force, or ordered, at the end of the round."""
    operators: Mapping[str, OperatorReading]
    paths: Mapping[str, PathReading]
    phase_s: Mapping[str, float]
    """CPU seconds by phase."""
    rounds: int = 1
    """How many rounds were merged into this one; above 1 only in the older part of a long run."""
    merged: Merged | None = None
    demands_s: Mapping[str, float] = field(default_factory=dict)
    """By operator, the demand as learned up to this round; empty if the file predates it."""
    overheads_s: Mapping[str, float] = field(default_factory=dict)
    """The same of the overhead of micro-batches."""
