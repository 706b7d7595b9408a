"""Response times in the three forms in which runs keep them, for the judge.

A tuple counts in the window in which it arrived, so that a stall counts against the time that caused it. Control
rounds know only when tuples left; there a tuple counts in the window in which it left.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from mead.arrays import FloatArray
from mead.monitor import FACTOR, LEAST_S, ResponseSketch
from mead.queueing import PATH_SEPARATOR
from mead.reports.frames import Frame
from mead.reports.judge.verdict import Verdict
from mead.values import STEP_S, Requirement

if TYPE_CHECKING:
    from mead.session.result import LiveResult
    from mead.simulator import Responses

DAY_WINDOWS = 2880
"""A live run keeps the half-minutes of one day; older ones only as sums."""


def statistic_s(response_s: FloatArray, requirement: Requirement) -> float:
    """The mean or percentile that the requirement bounds; 0 if there are no response times."""
    if response_s.size == 0:
        return 0.0
    if requirement.percent is None:
        return float(response_s.mean())
    return float(np.percentile(response_s, requirement.percent))


@dataclass(frozen=True, eq=False)
class TupleTimes:
    """Arrival and response time of every tuple of a run in virtual time, by path.

    Everything is done at its end.
    """

    responses: Mapping[str, Responses]
    duration_s: float
    most_windows: int | None = None

    def whole(self, requirement: Requirement) -> Verdict:
        """The verdict on all tuples."""
        return self._verdict(requirement, self.responses[requirement.path].response_s)

    def windows(self, requirement: Requirement, starts_s: FloatArray, length_s: float) -> Iterator[Verdict]:
        """A verdict on the tuples that arrived in each window."""
        responses = self.responses[requirement.path]
        order = np.argsort(responses.arrival_s, kind="stable")
        first, end = np.searchsorted(responses.arrival_s[order], [starts_s, starts_s + length_s])
        response_s = responses.response_s[order]
        return (self._verdict(requirement, response_s[i:j]) for i, j in zip(first, end, strict=True))

    def _verdict(self, requirement: Requirement, response_s: FloatArray) -> Verdict:
        if response_s.size == 0:
            return Verdict(requirement, 0, None, waiting=False)
        late = float((response_s > requirement.bound_s).mean())
        return Verdict(requirement, response_s.size, statistic_s(response_s, requirement), late, waiting=False)


@dataclass(frozen=True, eq=False)
class SketchedTimes:
    """Sketches of the response times by half-minute: a live run, when it is over."""

    result: LiveResult
    most_windows: int | None = DAY_WINDOWS

    @property
    def duration_s(self) -> float:
        """How long the run lasted."""
        return self.result.duration_s

    def whole(self, requirement: Requirement) -> Verdict:
        """The verdict on everything that was done."""
        sketch = self.result.responses[requirement.path]
        late = 1 - counts_within(sketch, [requirement.bound_s])[0] / sketch.total if sketch.total else None
        return _sketched(requirement, sketch, late, waiting=not self.result.drained)

    def windows(self, requirement: Requirement, starts_s: FloatArray, length_s: float) -> Iterator[Verdict]:
        """A verdict on each window. One without response times is broken if tuples wait at its end."""
        parts = self.result.parts[requirement.path]
        for start_s in starts_s.tolist():
            first = round(start_s / STEP_S)
            window = range(first, first + ceil(length_s / STEP_S))
            sketch = ResponseSketch.merged(parts[part] for part in window if part in parts)
            waiting = not sketch.total and self._waiting(requirement.path, window.stop * STEP_S)
            yield _sketched(requirement, sketch, None, waiting=waiting)

    def _waiting(self, path: str, end_s: float) -> bool:
        """Whether an operator of the path had tuples waiting in the last round before ``end_s``."""
        rounds = self.result.rounds
        before = rounds[: bisect_right(rounds, end_s, key=lambda this: this.time_s)]
        seen = next((this.observation for this in reversed(before) if this.observation is not None), None)
        names = path.split(PATH_SEPARATOR)
        return seen is not None and any(seen.operators[name].backlog > 0 for name in names if name in seen.operators)


def _sketched(requirement: Requirement, sketch: ResponseSketch, late: float | None, *, waiting: bool) -> Verdict:
    percent = requirement.percent
    response_s = sketch.mean_s if percent is None else sketch.percentile_s(percent)
    return Verdict(requirement, round(sketch.total), response_s, late, waiting)


def counts_within(sketch: ResponseSketch, bounds_s: Sequence[float]) -> list[float]:
    """How many response times did not exceed each bound, to the one percent that a sketch knows them by.

    >>> sketch = ResponseSketch()
    >>> sketch.add(np.array([0.1, 0.2, 0.4]))
    >>> counts_within(sketch, [0.05, 0.3, 1.0])
    [0.0, 2.0, 3.0]
    """
    places = np.floor(np.log(np.asarray(bounds_s) / LEAST_S) / np.log(FACTOR) + 1e-9).astype(int)
    cumulated = np.cumsum(sketch.counts)
    return [float(cumulated[min(place, cumulated.size - 1)]) for place in places]


@dataclass(frozen=True, eq=False)
class CountedTimes:
    """Sums and counts of late tuples by control round: a run that is attached, running or in a history."""

    frames: Sequence[Frame]
    duration_s: float = 0.0
    waiting: bool | None = None
    """Whether tuples were left at the end of the run; None if unknown."""
    most_windows: int | None = None

    @cached_property
    def _times_s(self) -> list[float]:
        return [frame.time_s for frame in self.frames]

    def whole(self, requirement: Requirement) -> Verdict:
        """The verdict on all rounds."""
        return self._verdict(requirement, self.frames, self.waiting)

    def windows(self, requirement: Requirement, starts_s: FloatArray, length_s: float) -> Iterator[Verdict]:
        """A verdict on the rounds of each window. One in which no tuple left is broken if tuples wait at its end."""
        names = requirement.path.split(PATH_SEPARATOR)
        for start_s in starts_s.tolist():
            first, end = (bisect_right(self._times_s, time_s) for time_s in (start_s, start_s + length_s))
            frames = self.frames[first:end]
            backlogs = [frames[-1].operators[name].backlog or 0 for name in names] if frames else []
            yield self._verdict(requirement, frames, any(backlogs) and not _completed(frames, requirement.path))

    @staticmethod
    def _verdict(requirement: Requirement, frames: Sequence[Frame], waiting: bool | None) -> Verdict:  # noqa: FBT001 - a fact
        path, bound_s = requirement.path, requirement.bound_s
        completed = _completed(frames, path)
        mean_s = sum(frame.paths[path].response_sum_s for frame in frames) / completed if completed else None
        counted = [frame.paths[path] for frame in frames if bound_s in frame.paths[path].beyond]
        of = sum(one.completed for one in counted)
        late = sum(one.beyond[bound_s] for one in counted) / of if of else None
        return Verdict(requirement, completed, mean_s if requirement.percent is None else None, late, waiting)


def _completed(frames: Sequence[Frame], path: str) -> int:
    return sum(frame.paths[path].completed for frame in frames)
