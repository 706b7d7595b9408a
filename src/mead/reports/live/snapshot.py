"""A snapshot of a run: the last rounds, and response times since the start, for a terminal.

A snapshot comes from the board of a run in this process, from a history, or from the live page of another process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mead.reports.frames import Frame
from mead.reports.judge import CountedTimes, Verdict
from mead.reports.live.board import Board
from mead.values import WINDOW_S

RECENT = 30
"""Rounds that a shown response time covers. Single rounds vary too much."""


@dataclass(frozen=True)
class PathTimes:
    """Response times of one path since the start; None if no tuple left it, or if they are unknown."""

    mean_s: float | None = None
    p95_s: float | None = None

    @classmethod
    def recorded(cls, figures: Mapping[str, float], rounds_mean_s: float | None) -> PathTimes:
        """Both values from the figures of a finished run; before its end, only the mean of its rounds is known.

        The figures include the tuples that left the path after the last round.
        """
        return cls(figures["mean_s"], figures.get("p95_s")) if "mean_s" in figures else cls(rounds_mean_s)


@dataclass(frozen=True)
class Standing:
    """A verdict on the last window, as the live page sends it."""

    path: str
    statistic: str
    bound_s: float
    used: float | None
    """Fraction of the allowance that is used, above 1 if broken; None if no tuple left the path."""
    broken: bool

    @classmethod
    def of(cls, verdict: Verdict) -> Standing:
        """The fields of a verdict that the page shows."""
        asked = verdict.requirement
        return cls(asked.path, asked.statistic, asked.bound_s, verdict.used, verdict.broken)


@dataclass(frozen=True)
class Snapshot:
    """One run at one moment."""

    pipeline: str
    policy: str
    mode: str
    operators: tuple[str, ...]
    """Names, in the order of the pipeline file."""
    finished: bool
    frames: tuple[Frame, ...]
    """The last rounds, oldest first."""
    paths: Mapping[str, PathTimes]
    requirements: tuple[Standing, ...]

    @classmethod
    def of(cls, board: Board) -> Snapshot:
        """The snapshot of a run of this process."""
        facts = board.facts
        recent = board.recent(WINDOW_S)
        return cls(
            facts.pipeline.name,
            facts.policy,
            facts.mode,
            tuple(operator.name for operator in facts.pipeline.operators),
            board.finished,
            tuple(recent[-RECENT:]),
            path_times(board),
            tuple(Standing.of(CountedTimes(recent).whole(r)) for r in facts.pipeline.requirements),
        )

    @property
    def last(self) -> Frame | None:
        """The last round."""
        return self.frames[-1] if self.frames else None

    def recent_s(self, path: str) -> float | None:
        """Mean response time of the tuples that left the path in the last rounds."""
        found = [frame.paths[path] for frame in self.frames if path in frame.paths]
        completed = sum(one.completed for one in found)
        return sum(one.response_sum_s for one in found) / completed if completed else None

    def as_json(self) -> dict[str, Any]:
        """The document that `mead top --json` prints."""
        return {
            "pipeline": self.pipeline,
            "policy": self.policy,
            "mode": self.mode,
            "finished": self.finished,
            "round": None if self.last is None else self.last.as_json(),
            "paths": {path: {"recent_s": self.recent_s(path)} | asdict(found) for path, found in self.paths.items()},
            "requirements": [asdict(standing) for standing in self.requirements],
        }


def path_times(board: Board) -> dict[str, PathTimes]:
    """Response times since the start by path, with percentiles if single response times are known."""
    found = {}
    for path in board.facts.pipeline.paths:
        completed, whole = board.totals.completed[path], board.responses(path)
        if whole is None:
            mean_s = board.totals.response_sum_s[path] / completed if completed else None
            found[path] = PathTimes.recorded(board.figures.get(path, {}), mean_s)
        else:
            found[path] = PathTimes(whole.mean_s, whole.percentile_s(95))
    return found
