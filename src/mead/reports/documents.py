"""JSON of runs, decisions, allocations and predictions, the same in all documents."""

from __future__ import annotations

from typing import Any

from mead.history import Decision, Effect, PastRun
from mead.values import Allocation, Prediction


def allocation_json(allocation: Allocation) -> dict[str, Any]:
    """Share and replicas by operator."""
    return {name: {"share": given.share, "replicas": given.replicas} for name, given in allocation.items()}


def prediction_json(prediction: Prediction) -> dict[str, Any]:
    """The predicted response times of a path; an overloaded path has none."""
    known = {"mean_s": prediction.mean_s, "p95_s": prediction.p95_s}
    return {"stable": prediction.stable, **{name: value for name, value in known.items() if value is not None}}


def run_json(run: PastRun) -> dict[str, Any]:
    """The document of a run in a history."""
    return {
        "run": run.number,
        "name": run.name,
        "policy": run.policy,
        "options": dict(run.options),
        "engine": run.engine,
        "mode": run.mode,
        "workload": run.workload,
        "started": run.started,
        "finished": run.finished,
        "duration_s": run.duration_s,
        "rounds": run.rounds,
        "changes": run.changes,
        "errors": run.errors,
    }


def decision_json(decision: Decision) -> dict[str, Any]:
    """The document of a decision: its reason and its effect."""
    return {
        "round": decision.round,
        "time_s": decision.time_s,
        "before": None if decision.before is None else allocation_json(decision.before),
        "after": None if decision.after is None else allocation_json(decision.after),
        "target": None if decision.target is None else allocation_json(decision.target),
        "changed": decision.changed,
        "changes": decision.changes,
        "applied": decision.applied,
        "reason": decision.reason,
        "because": decision.cause.value,
        "missing": decision.missing,
        "error": decision.error,
        "caution": decision.caution,
        "paths": {effect.path: _effect_json(effect) for effect in decision.effects},
    }


def _effect_json(effect: Effect) -> dict[str, Any]:
    return {
        "predicted": None if effect.predicted is None else prediction_json(effect.predicted),
        "observed": {"mean_s": effect.mean_s, "completed": effect.completed, "late": effect.late},
        "times_predicted": effect.times,
        "surprising": effect.surprising,
        "in_force": {
            "predicted_mean_s": effect.in_force.predicted_mean_s,
            "observed_mean_s": effect.in_force.mean_s,
            "times_predicted": effect.in_force.times,
        },
    }
