"""Frames from the control loop of a live run, and from a history."""

from __future__ import annotations

from collections.abc import Mapping

from mead.history import Decision, PastRound, number, rate_per_s
from mead.reports.frames.frame import Frame, Kind, OperatorFrame, PathFrame
from mead.values import Allocation, Pipeline, Round, late_bound_s


def late_bounds_s(pipeline: Pipeline) -> dict[str, float | None]:
    """The bound by which ``PathReading.late`` counts, by path."""
    return {path: late_bound_s(r for r in pipeline.requirements if r.path == path) for path in pipeline.paths}


def frame_from_round(
    this: Round,
    nth: int,
    pipeline: Pipeline,
    before: Allocation | None,
    advised: Allocation | None,
    p95_s: Mapping[str, float | None],
    *,
    acts: bool,
) -> Frame:
    """The frame of a live round. ``before`` was in force; ``advised`` is the last plan if the run does not act."""
    seen, plan = this.observation, this.plan
    interval_s = None if seen is None else seen.interval_s
    planned = this.in_force if plan is None else plan.allocation
    before, changed = this.since(before), this.changes(before, advised)
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
        because=this.cause,
        changed=changed,
        applied=planned == this.in_force,
        reason="" if plan is None else str(plan.reason),
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
                this.expected_mean_s(path, advised=not acts),
                p95_s.get(path),
            )
            for path in pipeline.paths
        },
        phase_s={name: float(spent_s) for name, spent_s in this.phase_s.items()},
        caution=1.0 if plan is None else plan.grounds.caution,
    )


def frame_from_history(past: PastRound, decision: Decision, pipeline: Pipeline) -> Frame:
    """The frame of a recorded round and its decision."""
    bounds_s = late_bounds_s(pipeline)
    effects = {effect.path: effect for effect in decision.effects}
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
        because=decision.cause,
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
                None if past.merged is None else past.merged.cores(o.name),
            )
            for o in pipeline.operators
        },
        paths={
            path: PathFrame.of(
                past.paths.get(path), effects[path].predicted, bounds_s[path], effects[path].in_force.predicted_mean_s
            )
            for path in pipeline.paths
        },
        phase_s=dict(past.phase_s),
        caution=decision.caution,
        rounds=past.rounds,
        merged=past.merged,
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
