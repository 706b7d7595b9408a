"""Requirements, and models, checked against what was observed in the last minutes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from mead.reports.live.frame import Frame
from mead.values import WINDOW_S, Requirement

JUDGED_S = WINDOW_S
"""A requirement has to hold in every window of this length, so the latest such window counts now."""


@dataclass(frozen=True)
class Judged:
    """One requirement, over the last window."""

    requirement: Requirement
    completed: int
    response_s: float | None
    """The mean of what left the path; None for a percentile, where only late tuples are counted."""
    late: float | None
    """The part of the tuples that took longer than the bound; None if nothing left, or they were not counted."""

    @property
    def broken(self) -> bool:
        """Whether it is broken. If nothing left the path, it is not.

        >>> p95 = Requirement("a>b", bound_s=0.5, percent=95)
        >>> Judged(p95, completed=100, response_s=None, late=0.04).broken
        False
        """
        percent = self.requirement.percent
        if percent is None:
            return self.response_s is not None and self.response_s > self.requirement.bound_s
        return self.late is not None and self.late > 1 - percent / 100

    @property
    def used(self) -> float | None:
        """The part of the allowance that is used up: 1 is just kept. Response over bound, or late over allowed."""
        percent = self.requirement.percent
        if percent is None:
            return None if self.response_s is None else self.response_s / self.requirement.bound_s
        return None if self.late is None else self.late / (1 - percent / 100)

    def as_json(self) -> dict[str, Any]:
        """The document of `/api/run` and `/events`."""
        return {
            "path": self.requirement.path,
            "statistic": self.requirement.statistic,
            "bound_s": self.requirement.bound_s,
            "window_s": JUDGED_S,
            "completed": self.completed,
            "response_s": self.response_s,
            "late": self.late,
            "used": self.used,
            "broken": self.broken,
        }


def judged(frames: Sequence[Frame], requirement: Requirement) -> Judged:
    """What these rounds say about a requirement."""
    paths = [frame.paths[requirement.path] for frame in frames]
    completed = sum(path.completed for path in paths)
    counted = [path for path in paths if requirement.bound_s in path.beyond]
    of = sum(path.completed for path in counted)
    return Judged(
        requirement,
        completed,
        sum(path.response_sum_s for path in paths) / completed if completed and requirement.percent is None else None,
        sum(path.beyond[requirement.bound_s] for path in counted) / of if of else None,
    )


def model_error(frames: Sequence[Frame], path: str) -> float | None:
    """Observed over predicted mean response time, less 1, over rounds that followed a prediction; None without any.

    Every tuple is held against the prediction for what was in force when it left.
    """
    seen_s = predicted_s = 0.0
    for before, after in pairwise(frames):
        expected_s = before.paths[path].expected_mean_s
        if expected_s is not None:
            seen_s += after.paths[path].response_sum_s
            predicted_s += expected_s * after.paths[path].completed
    return seen_s / predicted_s - 1 if predicted_s > 0 else None
