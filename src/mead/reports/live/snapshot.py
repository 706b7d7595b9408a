"""A run at one moment, as a terminal shows it: the last rounds, and response times since it began.

The same value comes from the board of a run in this process, from a history, and from the page of another process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mead.reports.judge import CountedTimes, Verdict
from mead.reports.live.board import Board
from mead.reports.live.frame import Frame
from mead.values import WINDOW_S

RECENT = 30
"""How many rounds a shown response time covers: those of single seconds jump about."""


@dataclass(frozen=True)
class SoFar:
    """The response times of one path since the run began; None where nothing left it, or they are not known."""

    mean_s: float | None = None
    p95_s: float | None = None


@dataclass(frozen=True)
class Standing:
    """One requirement over the last window."""

    path: str
    statistic: str
    bound_s: float
    used: float | None
    """The part of the allowance that is used up: 1 is just kept. None if nothing left the path."""
    broken: bool

    @classmethod
    def of(cls, verdict: Verdict) -> Standing:
        """The standing that the page shows."""
        asked = verdict.requirement
        return cls(asked.path, asked.statistic, asked.bound_s, verdict.used, verdict.broken)


@dataclass(frozen=True)
class Look:
    """What is seen of a run."""

    pipeline: str
    policy: str
    mode: str
    operators: tuple[str, ...]
    """Names, in the order of the pipeline file."""
    finished: bool
    frames: tuple[Frame, ...]
    """The last rounds, oldest first; none before the first."""
    paths: Mapping[str, SoFar]
    requirements: tuple[Standing, ...]

    @classmethod
    def of(cls, board: Board) -> Look:
        """Look at a run of this process."""
        facts = board.facts
        recent = board.recent(WINDOW_S)
        return cls(
            facts.pipeline.name,
            facts.policy,
            facts.mode,
            tuple(operator.name for operator in facts.pipeline.operators),
            board.finished,
            tuple(recent[-RECENT:]),
            so_far(board),
            tuple(Standing.of(CountedTimes(recent).whole(r)) for r in facts.pipeline.requirements),
        )

    @property
    def last(self) -> Frame | None:
        """The last round."""
        return self.frames[-1] if self.frames else None

    def recent_s(self, path: str) -> float | None:
        """The mean response time of what left the path in the last rounds."""
        return mean_s([frame for frame in self.frames if path in frame.paths], path)

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


def so_far(board: Board) -> dict[str, SoFar]:
    """By path, the response times since the run began; with percentiles if single response times are known."""
    found = {}
    for path in board.facts.pipeline.paths:
        completed, whole = board.totals.completed[path], board.responses(path)
        mean = board.totals.response_sum_s[path] / completed if completed else None
        found[path] = SoFar(mean, None if whole is None else whole.percentile_s(95))
    return found


def mean_s(frames: Sequence[Frame], path: str) -> float | None:
    """The mean response time of everything that left a path in these rounds."""
    completed = sum(frame.paths[path].completed for frame in frames)
    return sum(frame.paths[path].response_sum_s for frame in frames) / completed if completed else None
