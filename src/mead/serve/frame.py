"""One round as the page shows it: plain numbers, taken from a live round or from a history alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from mead.knowledge.allocation import Allocation
from mead.knowledge.history.rows import number, rate_per_s
from mead.knowledge.history.values import Decision, PastRound
from mead.knowledge.observation import OperatorReading, PathReading
from mead.knowledge.pipeline import Pipeline
from mead.knowledge.plan import Prediction
from mead.knowledge.round import Round


class Kind(Enum):
    """What a round came to."""

    UP = "up"
    DOWN = "down"
    SHIFT = "shift"
    KEEP = "keep"
    OBSERVE = "observe"
    BLIND = "blind"
    FAILED = "failed"

    @property
    def meaning(self) -> str:
        """In words, for the documentation and the page."""
        return MEANINGS[self]


MEANINGS = {
    Kind.UP: "more cores than before",
    Kind.DOWN: "fewer cores than before",
    Kind.SHIFT: "as many cores as before, given to others",
    Kind.KEEP: "nothing changes",
    Kind.OBSERVE: "nothing is decided in mode observe",
    Kind.BLIND: "readings were missing or could not be true, so that nothing changes",
    Kind.FAILED: "the round failed, so that nothing changes",
}


@dataclass(frozen=True, slots=True)
class OperatorFrame:
    """One operator in one round. Readings are None where they were missing."""

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
    """The part of the cores that it had which was used."""
    throttled_s: float | None
    throttled: float | None
    """Cores on which workers were ready to run and were held back."""

    @classmethod
    def of(
        cls,
        name: str,
        reading: OperatorReading | None,
        interval_s: float | None,
        before: Allocation | None,
        in_force: Allocation | None,
        planned: Allocation | None,
    ) -> OperatorFrame:
        """From what was read, what it had in that time, has since, and shall have."""
        held = in_force.get(name) if in_force else None
        had = before.get(name) if before else held
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
            utilization=number(timed.busy_s / over_s / had.cores) if timed and had and had.cores > 0 else None,
            throttled_s=number(reading.throttled_s) if reading else None,
            throttled=number(timed.throttled_s / over_s) if timed else None,
        )


@dataclass(frozen=True, slots=True)
class PathFrame:
    """One path in one round: what left it, and what is predicted for it."""

    completed: int
    response_sum_s: float
    mean_s: float | None
    p95_s: float | None
    """Of tuples that arrived in the last half minute to a minute; None where single response times are not known."""
    beyond: Mapping[float, int]
    """By bound in s, how many took longer."""
    predicted_mean_s: float | None
    predicted_p95_s: float | None
    predicted_stable: bool | None

    @classmethod
    def of(
        cls,
        reading: PathReading | None,
        predicted: Prediction | None,
        late_bound_s: float | None,
        p95_s: float | None = None,
    ) -> PathFrame:
        """``late_bound_s`` is the bound that the reading's ``late`` counts by."""
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
        )


@dataclass(frozen=True, slots=True)
class Frame:
    """One round."""

    number: int
    """From 1."""
    time_s: float
    interval_s: float | None
    rate_per_s: float | None
    """Arrivals at the source."""
    cores: float | None
    """Of all operators, in force since."""
    kind: Kind
    changed: bool
    """Whether something else was planned than before."""
    applied: bool
    reason: str
    error: str
    missing: str
    operators: Mapping[str, OperatorFrame]
    paths: Mapping[str, PathFrame]
    phase_s: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """As `/api/rounds` and `/events` have it."""
        return _plain(self) | {
            "kind": self.kind.value,
            "operators": {name: _plain(operator) for name, operator in self.operators.items()},
            "paths": {
                name: _plain(path) | {"beyond": {f"{b:g}": n for b, n in path.beyond.items()}}
                for name, path in self.paths.items()
            },
        }


def _plain(value: Frame | OperatorFrame | PathFrame) -> dict[str, Any]:
    """Its fields. ``asdict`` copies all the way down, which takes ten times as long, for every round and browser."""
    return {name: getattr(value, name) for name in value.__slots__}


def late_bounds_s(pipeline: Pipeline) -> dict[str, float | None]:
    """By path, the bound that ``PathReading.late`` counts by: the strictest percentile bound, or else mean bound."""
    strictest: dict[str, float | None] = {}
    for path in pipeline.paths:
        asked = [r for r in pipeline.requirements if r.path == path]
        percentiles = [r.bound_s for r in asked if r.percent is not None]
        strictest[path] = min(percentiles or [r.bound_s for r in asked], default=None)
    return strictest


def of_round(
    this: Round,
    nth: int,
    pipeline: Pipeline,
    before: Allocation | None,
    advised: Allocation | None,
    p95_s: Mapping[str, float | None],
) -> Frame:
    """From a live round. ``before`` was in force, ``advised`` the plan before, where plans are only advised."""
    seen, plan = this.observation, this.plan
    interval_s = None if seen is None else seen.interval_s
    planned = this.in_force if plan is None else plan.allocation
    changed = plan is not None and planned != (advised or before)
    bounds_s = late_bounds_s(pipeline)
    return Frame(
        number=nth,
        time_s=float(this.time_s),
        interval_s=number(interval_s),
        rate_per_s=None if seen is None else rate_per_s(seen),
        cores=None if this.in_force is None else number(this.in_force.cores),
        kind=_kind(
            before, planned, this.error, seen.missing if seen else "", decided=plan is not None, changed=changed
        ),
        changed=changed,
        applied=planned == this.in_force,
        reason="" if plan is None else plan.reason,
        error=this.error,
        missing="" if seen is None else seen.missing,
        operators={
            o.name: OperatorFrame.of(
                o.name, None if seen is None else seen.operators.get(o.name), interval_s, before, this.in_force, planned
            )
            for o in pipeline.operators
        },
        paths={
            path: PathFrame.of(
                None if seen is None else seen.paths.get(path),
                None if plan is None else plan.predicted.get(path),
                bounds_s[path],
                p95_s.get(path),
            )
            for path in pipeline.paths
        },
        phase_s={name: float(spent_s) for name, spent_s in this.phase_s.items()},
    )


def of_history(past: PastRound, decision: Decision, pipeline: Pipeline) -> Frame:
    """From a round that was written down, and what it decided."""
    bounds_s = late_bounds_s(pipeline)
    predicted = {effect.path: effect.predicted for effect in decision.effects}
    decided = bool(decision.reason)
    return Frame(
        number=past.round,
        time_s=past.time_s,
        interval_s=past.interval_s,
        rate_per_s=past.rate_per_s,
        cores=None if past.in_force is None else number(past.in_force.cores),
        kind=_kind(
            decision.before, decision.after, past.error, past.missing, decided=decided, changed=decision.changed
        ),
        changed=decision.changed,
        applied=decision.applied,
        reason=decision.reason,
        error=past.error,
        missing=past.missing,
        operators={
            o.name: OperatorFrame.of(
                o.name,
                past.operators.get(o.name),
                past.interval_s,
                decision.before,
                past.in_force,
                decision.after or past.in_force,
            )
            for o in pipeline.operators
        },
        paths={
            path: PathFrame.of(past.paths.get(path), predicted.get(path), bounds_s[path]) for path in pipeline.paths
        },
        phase_s=dict(past.phase_s),
    )


def _kind(
    before: Allocation | None, planned: Allocation | None, error: str, missing: str, *, decided: bool, changed: bool
) -> Kind:
    if error:
        return Kind.FAILED
    if missing:
        return Kind.BLIND
    if not decided:
        return Kind.OBSERVE
    if not changed or before is None or planned is None:
        return Kind.KEEP
    more = planned.cores - before.cores
    if abs(more) < 1e-9:
        return Kind.SHIFT
    return Kind.UP if more > 0 else Kind.DOWN
