"""Decisions with their inputs and effects, and the model error that follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    """Observed over predicted mean response time, less 1, in the rounds that followed a prediction; None without any.

    Every tuple is compared with the prediction for the allocation in force when it left.
    """
    seen_s = predicted_s = 0.0
    for before, after in pairwise(frames):
        expected_s = before.paths[path].expected_mean_s
        if expected_s is not None:
            seen_s += after.paths[path].response_sum_s
            predicted_s += expected_s * after.paths[path].completed
    return seen_s / predicted_s - 1 if predicted_s > 0 else None


def list_decisions(
    frames: Sequence[Frame], *, changes_only: bool, limit: int | None = None
) -> Iterator[DecisionRecord]:
    """The last ``limit`` decisions, oldest first. An effect includes the readings of the next decision."""
    places = [i for i, frame in enumerate(frames) if frame.changed or not changes_only]
    places = places if limit is None else places[-limit:]
    for place, following in pairwise([*places, len(frames) - 1]):
        frame, later = frames[place], frames[place + 1 : following + 1]
        last = place == places[-1]
        yield DecisionRecord(
            frame,
            None if last else frames[following].time_s,
            {name: _effect(name, frame, later) for name in frame.paths},
        )


def _effect(path: str, frame: Frame, later: Sequence[Frame]) -> PathEffect:
    predicted = frame.paths[path]
    seen = [one.paths[path] for one in later if not one.missing]
    completed = sum(one.completed for one in seen)
    mean_s = sum(one.response_sum_s for one in seen) / completed if completed else None
    return PathEffect(
        predicted.predicted_mean_s,
        predicted.predicted_p95_s,
        predicted.predicted_stable,
        completed if frame.applied else 0,
        mean_s if frame.applied else None,
        later[-1].time_s - frame.time_s if later else 0.0,
        InForce(predicted.expected_mean_s, mean_s),
    )
