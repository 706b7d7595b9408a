"""Frames: rounds as plain numbers, the same from a live round and from a history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from mead.history import Merged, number
from mead.values import Allocation, Cause, OperatorReading, PathReading, Prediction


class Kind(Enum):
    """The outcome of a round."""

    UP = "up"
    DOWN = "down"
    SHIFT = "shift"
    KEEP = "keep"
    OBSERVE = "observe"
    BLIND = "blind"
    FAILED = "failed"

    @property
    def meaning(self) -> str:
        """The outcome in words, for documentation and page."""
        return MEANINGS[self]


MEANINGS = {
    Kind.UP: "more cores than before",
    Kind.DOWN: "fewer cores than before",
    Kind.SHIFT: "as many cores as before, distributed differently",
    Kind.KEEP: "nothing changes",
    Kind.OBSERVE: "no decision, in mode observe",
    Kind.BLIND: "readings were missing or implausible: nothing changes",
    Kind.FAILED: "the round failed: nothing changes",
}


@dataclass(frozen=True, slots=True)
class OperatorFrame:
    """One operator in one round. Missing readings are None."""

    share: float | None
    replicas: int | None
    planned_share: float | None
    planned_replicas: int | None
    arrived: int | None
    rate_per_s: float | None
    backlog: int | None
    busy_s: float | None
    """CPU seconds of its workers since the round before."""
    utilization: float | None
    """Fraction of its cores that it used."""
    throttled_s: float | None
    throttled: float | None
    """Cores that its workers could have used but for the limit."""

    @classmethod
    def of(
        cls,
        name: str,
        reading: OperatorReading | None,
        interval_s: float | None,
        before: Allocation | None,
        in_force: Allocation | None,
        planned: Allocation | None,
        had_cores: float | None = None,
    ) -> OperatorFrame:
        """Build it from a reading and from the allocation before, in force, and planned.

        ``had_cores`` is the average of its cores if more than one allocation was in force.
        """
        held = in_force.get(name) if in_force else None
        had = before.get(name) if before else held
        cores = had_cores or (had.cores if had else 0.0)
        wanted = planned.get(name) if planned else None
        timed = reading if reading is not None and interval_s is not None and interval_s > 0 else None
        over_s = interval_s or 1.0
        return cls(
            share=held.share if held else None,
            replicas=held.replicas if held else None,
            planned_share=wanted.share if wanted else None,
            planned_replicas=wanted.replicas if wanted else None,
            arrived=int(reading.arrived) if reading else None,
            rate_per_s=number(timed.arrived / over_s) if timed else None,
            backlog=int(reading.backlog) if reading else None,
            busy_s=number(reading.busy_s) if reading else None,
            utilization=number(timed.busy_s / over_s / cores) if timed and cores > 0 else None,
            throttled_s=number(reading.throttled_s) if reading else None,
            throttled=number(timed.throttled_s / over_s) if timed else None,
        )


@dataclass(frozen=True, slots=True)
class PathFrame:
    """One path in one round: the tuples that left it, and predictions for the plan and the allocation in force."""

    completed: int
    response_sum_s: float
    mean_s: float | None
    p95_s: float | None
    """Of the tuples that arrived in the last half minute to minute; None if single response times are unknown."""
    beyond: Mapping[float, int]
    """By bound in seconds, the number of tuples that took longer."""
    predicted_mean_s: float | None
    predicted_p95_s: float | None
    predicted_stable: bool | None
    expected_mean_s: float | None = None
    """Predicted for the allocation in force, which need not be the plan. Later rounds are compared with it."""

    @classmethod
    def of(
        cls,
        reading: PathReading | None,
        predicted: Prediction | None,
        late_bound_s: float | None,
        expected_s: float | None,
        p95_s: float | None = None,
    ) -> PathFrame:
        """Build it; ``late_bound_s`` is the bound by which the reading counts late tuples."""
        beyond = dict(reading.beyond) if reading else {}
        if reading and late_bound_s is not None:
            beyond.setdefault(late_bound_s, reading.late)
        return cls(
            completed=int(reading.completed) if reading else 0,
            response_sum_s=number(reading.response_sum_s) or 0.0 if reading else 0.0,
            mean_s=number(reading.mean_s) if reading else None,
            p95_s=number(p95_s),
            beyond={bound_s: int(late) for bound_s, late in beyond.items()},
            predicted_mean_s=number(predicted.mean_s) if predicted else None,
            predicted_p95_s=number(predicted.p95_s) if predicted else None,
            predicted_stable=predicted.stable if predicted else None,
            expected_mean_s=number(expected_s),
        )


@dataclass(frozen=True, slots=True)
class Frame:
    """One round."""

    number: int
    """Counted from 1."""
    time_s: float
    interval_s: float | None
    rate_per_s: float | None
    """The rate of arrivals at the source."""
    cores: float | None
    """Cores of all operators in force after this round."""
    kind: Kind
    because: Cause
    """The category of the reason."""
    changed: bool
    """Whether the plan differs from the one before."""
    applied: bool
    reason: str
    error: str
    missing: str
    operators: Mapping[str, OperatorFrame]
    paths: Mapping[str, PathFrame]
    phase_s: Mapping[str, float]
    caution: float = 1.0
    """How many times tighter the bounds were taken because recent predictions were too optimistic."""
    rounds: int = 1
    """How many rounds were merged into this one."""
    merged: Merged | None = None
    """Sums over them, if it is an old half-minute of a history."""

    @property
    def changes(self) -> int:
        """How many changes it stands for."""
        return int(self.changed) if self.merged is None else self.merged.changes

    def as_json(self) -> dict[str, Any]:
        """The document of `/api/rounds` and `/events`."""
        fields = _plain(self)
        del fields["merged"]
        return fields | {
            "kind": self.kind.value,
            "because": self.because.value,
            "operators": {name: _plain(operator) for name, operator in self.operators.items()},
            "paths": {
                name: _plain(path) | {"beyond": {_bound(b): n for b, n in path.beyond.items()}}
                for name, path in self.paths.items()
            },
        }


def _bound(bound_s: float) -> str:
    """A bound with all its digits, because two bounds may differ in the last one.

    >>> _bound(0.3000001), _bound(2.0)
    ('0.3000001', '2')
    """
    return repr(float(bound_s)).removesuffix(".0")


def _plain(value: Frame | OperatorFrame | PathFrame) -> dict[str, Any]:
    """The fields as a dict. ``asdict`` would copy deeply, which takes ten times as long."""
    return {name: getattr(value, name) for name in value.__slots__}
