"""Decisions with their inputs and effects, and the model error that follows from them."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from mead.history import InForce
from mead.reports.frames import Frame
from mead.values import surprising, times_predicted


@dataclass(frozen=True)
class PathEffect:
    """Predicted and observed response times of one path, from a decision until the next."""

    predicted_mean_s: float | None
    predicted_p95_s: float | None
    predicted_stable: bool | None
    completed: int
    observed_mean_s: float | None
    """None if no tuple left the path, or the plan was not applied."""
    lasted_s: float
    """How long the effect was observed."""
    in_force: InForce
    """Predicted and observed mean of the allocation in force, which need not be the plan."""

    @property
    def times(self) -> float | None:
        """Observed over predicted mean; None if either is missing."""
        return times_predicted(self.predicted_mean_s, self.observed_mean_s)

    @property
    def surprising(self) -> bool:
        """Whether the observed mean is far from the predicted one, over a long enough time."""
        return surprising(self.times, self.lasted_s)


@dataclass(frozen=True)
class DecisionRecord:
    """One decision with its inputs and its effects."""

    frame: Frame
    until_s: float | None
    """Time of the next decision; None for the last one."""
    effects: dict[str, PathEffect]

    def as_json(self) -> dict[str, Any]:
        """The document of `/api/decisions`."""
        frame = self.frame
        return {
            "round": frame.number,
            "time_s": frame.time_s,
            "until_s": self.until_s,
            "kind": frame.kind.value,
            "because": frame.because.value,
            "changed": frame.changed,
            "changes": frame.changes,
            "applied": frame.applied,
            "reason": frame.reason,
            "error": frame.error,
            "missing": frame.missing,
            "caution": frame.caution,
            "inputs": {
                "rate_per_s": frame.rate_per_s,
                "operators": {
                    name: {"rate_per_s": o.rate_per_s, "backlog": o.backlog, "utilization": o.utilization}
                    for name, o in frame.operators.items()
                },
            },
            "planned": {
                name: {"share": o.planned_share, "replicas": o.planned_replicas} for name, o in frame.operators.items()
            },
            "paths": {
                name: {
                    "predicted": {
                        "mean_s": e.predicted_mean_s,
                        "p95_s": e.predicted_p95_s,
                        "stable": e.predicted_stable,
                    },
                    "observed": {"mean_s": e.observed_mean_s, "completed": e.completed},
                    "times_predicted": e.times,
                    "surprising": e.surprising,
                    "in_force": {
                        "predicted_mean_s": e.in_force.predicted_mean_s,
                        "observed_mean_s": e.in_force.mean_s,
                        "times_predicted": e.in_force.times,
                    },
                }
                for name, e in self.effects.items()
            },
        }


def model_error(frames: Sequence[Frame], path: str) -> float | None:
    """Observed over predicted mean response time, less 1; None without predictions.

    It covers the rounds that followed a prediction.

    Every tuple is compared with the prediction for the allocation in force when it left.
    """
    seen_s = predicted_s = 0.0
    for before, after in pairwise(frames):
        expected_s = before.paths[path].expected_mean_s
        if expected_s is not None:
            seen_s += after.paths[path].response_sum_s
            predicted_s += expected_s * after.paths[path].completed
    return seen_s / predicted_s - 1 if predicted_s > 0 else None


class Decisions:
    """Collects decisions and their effects, round by round. The last ``limit`` stay."""

    def __init__(self, *, changes_only: bool, limit: int | None = None) -> None:
        self.surprises: Counter[str] = Counter()
        """By path, decisions whose effect was far from the prediction, without the last one."""
        self._changes_only = changes_only
        self._kept: deque[DecisionRecord] = deque(maxlen=limit)
        self._last: _Watched | None = None

    def add(self, frame: Frame) -> None:
        """Add a round. Its readings belong to the effect of the decision before, also if it decides itself."""
        if self._last is not None:
            self._last.see(frame)
        if frame.changed or not self._changes_only:
            ended = None if self._last is None else self._last.record(frame.time_s)
            if ended is not None:
                self._kept.append(ended)
            self.surprises.update(_surprises(ended, frame))
            self._last = _Watched(frame)

    def records(self) -> list[DecisionRecord]:
        """The last decisions, oldest first."""
        if self._last is not None:
            self._kept.append(self._last.record(None))
            self._last = None
        return list(self._kept)


def _surprises(ended: DecisionRecord | None, by: Frame) -> Mapping[str, int]:
    """By path, whether the decision that this round ends was surprising; merged rounds say it of theirs, too."""
    if by.merged is not None and by.merged.surprises is not None:
        return by.merged.surprises
    return {path: int(one.surprising) for path, one in ended.effects.items()} if ended is not None else {}


def list_decisions(frames: Iterable[Frame], *, changes_only: bool, limit: int | None = None) -> list[DecisionRecord]:
    """The last ``limit`` decisions, oldest first. An effect includes the readings of the next decision."""
    decisions = Decisions(changes_only=changes_only, limit=limit)
    for frame in frames:
        decisions.add(frame)
    return decisions.records()


class _Watched:
    """A decision, and the tuples that have left since."""

    def __init__(self, frame: Frame) -> None:
        self.frame, self.until_s = frame, frame.time_s
        self.completed: Counter[str] = Counter()
        self.sum_s: defaultdict[str, float] = defaultdict(float)

    def see(self, frame: Frame) -> None:
        self.until_s = frame.time_s
        if not frame.missing:
            for path, seen in frame.paths.items():
                self.completed[path] += seen.completed
                self.sum_s[path] += seen.response_sum_s

    def record(self, until_s: float | None) -> DecisionRecord:
        return DecisionRecord(self.frame, until_s, {path: self._effect(path) for path in self.frame.paths})

    def _effect(self, path: str) -> PathEffect:
        predicted, completed = self.frame.paths[path], self.completed[path]
        mean_s = self.sum_s[path] / completed if completed else None
        return PathEffect(
            predicted.predicted_mean_s,
            predicted.predicted_p95_s,
            predicted.predicted_stable,
            completed if self.frame.applied else 0,
            mean_s if self.frame.applied else None,
            self.until_s - self.frame.time_s,
            InForce(predicted.expected_mean_s, mean_s),
        )
