"""The verdict on a requirement: met, broken or not known, how much of the time, and by how much.

Every report, page, metric and experiment takes its verdicts from here. The response times may come as single values
(a simulation), as sketches by half-minute (a live run) or as counts by control round (an attached, running or past
run); ``response_times`` has a class for each form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mead.arrays import FloatArray
from mead.values import STEP_S, WINDOW_S, Requirement

MINUTE_S = 60.0


@dataclass(frozen=True)
class Verdict:
    """One requirement held against the response times of a run, or of a part of it."""

    requirement: Requirement
    completed: int
    """Tuples that left the path."""
    response_s: float | None
    """The mean or percentile that the requirement bounds; None if unknown."""
    late: float | None = None
    """Fraction of the tuples that took longer than the bound; None if they were not counted."""
    waiting: bool | None = None
    """Whether tuples had arrived that did not leave before the end; None if unknown."""
    broken_windows: float | None = None
    """Fraction of the sliding windows that break the requirement; None if unknown."""
    worst_minute_s: float | None = None
    """The mean or percentile in the worst minute; None if unknown."""

    @property
    def met(self) -> bool | None:
        """Whether the requirement is met; None if that is not known.

        A percentile that was not measured is judged by the fraction of late tuples. If no tuple left the path, the
        requirement is met unless tuples wait. If the tuples that left meet it but others wait, it is not known.

        >>> p95 = Requirement("a>b", bound_s=0.5, percent=95)
        >>> Verdict(p95, completed=100, response_s=None, late=0.04).met
        True
        >>> Verdict(p95, completed=100, response_s=0.4, waiting=True).met is None
        True
        >>> Verdict(p95, completed=0, response_s=None, waiting=True).met
        False
        """
        if self.response_s is not None:
            kept = self.response_s <= self.requirement.bound_s
        elif self.late is not None:
            kept = self.late <= allowed_late(self.requirement)
        elif self.completed or self.waiting is None:
            return None
        else:
            return not self.waiting
        return None if kept and self.waiting else kept

    @property
    def broken(self) -> bool:
        """Whether the requirement is known to be broken."""
        return self.met is False

    @property
    def used(self) -> float | None:
        """Fraction of the allowance that is used, above 1 if broken: mean over bound, or late over allowed tuples."""
        if self.requirement.percent is None:
            return None if self.response_s is None else self.response_s / self.requirement.bound_s
        return None if self.late is None else self.late / allowed_late(self.requirement)

    def as_json(self, window_s: float) -> dict[str, Any]:
        """The entry in the documents of the live page; ``window_s`` says how much of the run it covers."""
        return {
            "path": self.requirement.path,
            "statistic": self.requirement.statistic,
            "bound_s": self.requirement.bound_s,
            "window_s": window_s,
            "completed": self.completed,
            "response_s": self.response_s,
            "late": self.late,
            "used": self.used,
            "broken": self.broken,
        }


def allowed_late(requirement: Requirement) -> float:
    """Fraction of the tuples that may take longer than the bound: 0.05 for p95; none for a mean."""
    return 0.0 if requirement.percent is None else 1 - requirement.percent / 100


class ResponseTimes(Protocol):
    """The response times of a run, in one of the forms in which they are kept."""

    @property
    def duration_s(self) -> float:
        """How long the run lasted."""

    @property
    def most_windows(self) -> int | None:
        """How many of the last windows can be judged; None for all."""

    def whole(self, requirement: Requirement) -> Verdict:
        """The verdict on the whole run, without windows."""

    def windows(self, requirement: Requirement, starts_s: FloatArray, length_s: float) -> Iterator[Verdict]:
        """A verdict on each window of that length."""


def judge(requirement: Requirement, times: ResponseTimes) -> Verdict:
    """Judge a run: over its whole length, in sliding windows, and in its worst minute."""
    whole = times.whole(requirement)
    if whole.response_s is None and whole.late is None and (whole.completed or whole.waiting is None):
        return whole  # there is nothing to judge by
    length_s = min(WINDOW_S, max(times.duration_s, STEP_S))
    starts_s = window_starts_s(times.duration_s, length_s, STEP_S)[-(times.most_windows or 0) :]
    windows = [window.broken for window in times.windows(requirement, starts_s, length_s)]
    minute_starts_s = window_starts_s(times.duration_s, MINUTE_S, MINUTE_S)
    minutes = times.windows(requirement, minute_starts_s, MINUTE_S)
    return replace(
        whole,
        broken_windows=sum(windows) / len(windows),
        worst_minute_s=max((minute.response_s for minute in minutes if minute.response_s is not None), default=None),
    )


def all_met(verdicts: Iterable[Verdict]) -> bool | None:
    """Whether all requirements are met: False if one is broken, None if none is but one is not known."""
    single = {verdict.met for verdict in verdicts}
    return False if False in single else None if None in single else True


def window_starts_s(duration_s: float, length_s: float, step_s: float) -> FloatArray:
    """The times at which the windows of a run begin. The last window may end half a step after the run.

    A trace of half an hour ends with its last arrival, just before the half hour is over; its last minute counts.

    >>> window_starts_s(359.9, 300.0, 30.0).tolist()
    [0.0, 30.0, 60.0]
    """
    return step_s * np.arange(max(round((duration_s - length_s) / step_s), 0) + 1.0)
