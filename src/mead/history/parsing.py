"""Values from the rows of a history. Older files lack some columns, and readers do not add them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from mead.history.pipeline_json import pipeline_from_json
from mead.history.records import Decision, Effect, InForce, Merged, PastRound, PastRun
from mead.history.rows import PHASES
from mead.values import Allocation, Cause, OperatorReading, PathReading, Prediction, Resources

Seen: TypeAlias = Mapping[tuple[int, int], sqlite3.Row]
"""By round and place of a path, the tuples that left it after the decision of that round."""

KNOWN = {one.value for one in Cause}


def newer(row: sqlite3.Row, column: str, default: Any) -> Any:
    """The value of a column that older files lack, or the default."""
    value = row[column] if column in row.keys() else None  # noqa: SIM118 - a row holds values
    return default if value is None else value


def by_name(rows: Sequence[sqlite3.Row], column: str) -> dict[str, float]:
    """By operator or path, the values of a column that older files lack; without empty ones."""
    values = {row["name"]: newer(row, column, None) for row in rows}
    return {name: value for name, value in values.items() if value is not None}


def cause_of(word: str | None) -> Cause:
    """The reason in one word; ``UNSAID`` if the file predates it, or holds a word of a later version."""
    return Cause(word) if word in KNOWN else Cause.UNSAID


def allocation_of(rows: Sequence[sqlite3.Row], prefix: str) -> Allocation | None:
    """The allocation in the columns with that prefix; None if any of them is empty."""
    if any(row[f"{prefix}share"] is None or row[f"{prefix}replicas"] is None for row in rows):
        return None
    return Allocation.of({row["name"]: Resources(row[f"{prefix}share"], row[f"{prefix}replicas"]) for row in rows})


def effect_of(
    path: sqlite3.Row, decided_s: float, seen: sqlite3.Row | None, mean_s: float | None, *, applied: bool
) -> Effect:
    """The prediction for a path at ``decided_s``, and the response times until the next decision of its kind.

    ``mean_s`` is the mean until the next round, whatever was in force. A plan that was not applied has no effect.
    """
    predicted = None
    if path["predicted_stable"] is not None:
        stable = bool(path["predicted_stable"])
        predicted = Prediction(path["predicted_mean_s"], path["predicted_p95_s"], stable=stable)
    expected_s = newer(path, "expected_mean_s", path["predicted_mean_s"] if applied else None)
    in_force = InForce(expected_s, mean_s)
    if seen is None or not applied:
        return Effect(path["name"], predicted, completed=0, mean_s=None, late=0, in_force=in_force)
    lasted_s = None if seen["until_s"] is None else seen["until_s"] - decided_s
    return Effect(
        path["name"], predicted, seen["completed"] or 0, seen["mean_s"], seen["late"] or 0, lasted_s, in_force
    )


def decision_of(
    row: sqlite3.Row,
    operators: Sequence[sqlite3.Row],
    paths: Sequence[sqlite3.Row],
    seen: Seen,
    at_once: Seen,
) -> Decision:
    """The decision of a round.

    ``seen`` came until the next decision of its kind, ``at_once`` until the next round.
    """
    number, applied = row["number"], bool(row["applied"])
    keys = [(number, path["place"]) for path in paths]
    return Decision(
        round=number,
        time_s=row["time_s"],
        before=allocation_of(operators, "before_"),
        after=allocation_of(operators, "planned_"),
        target=allocation_of(operators, "target_"),
        changed=bool(row["changed"]),
        applied=applied,
        reason=row["reason"],
        missing=row["missing"],
        error=row["error"],
        effects=tuple(
            effect_of(
                path, row["time_s"], seen.get(key), at_once[key]["mean_s"] if key in at_once else None, applied=applied
            )
            for path, key in zip(paths, keys, strict=True)
        ),
        caution=newer(row, "caution", 1.0),
        cause=cause_of(newer(row, "because", None)),
        changes=row["changed"],
        rounds=newer(row, "rounds", 1),
    )


def round_of(row: sqlite3.Row, operators: Sequence[sqlite3.Row], paths: Sequence[sqlite3.Row]) -> PastRound:
    """The readings of a round."""
    return PastRound(
        round=row["number"],
        **{key: row[key] for key in ("time_s", "observed_s", "interval_s", "rate_per_s", "missing", "error")},
        in_force=allocation_of(operators, ""),
        operators={
            r["name"]: OperatorReading(
                r["arrived"],
                r["completed"],
                r["backlog"],
                r["busy_s"],
                throttled_s=newer(r, "throttled_s", 0.0),
            )
            for r in operators
            if None not in (r["arrived"], r["completed"], r["backlog"], r["busy_s"])
        },
        paths={
            r["name"]: PathReading(r["completed"], r["response_sum_s"], r["late"])
            for r in paths
            if None not in (r["completed"], r["response_sum_s"], r["late"])
        },
        phase_s={phase: row[f"{phase}_s"] for phase in PHASES if row[f"{phase}_s"] is not None},
        rounds=newer(row, "rounds", 1),
        merged=merged_of(row, operators, paths),
        demands_s=by_name(operators, "demand_s"),
        overheads_s=by_name(operators, "overhead_s"),
    )


def merged_of(row: sqlite3.Row, operators: Sequence[sqlite3.Row], paths: Sequence[sqlite3.Row]) -> Merged | None:
    """The sums over merged rounds; None if the row is that of a single round."""
    lasted_s = newer(row, "lasted_s", None)
    if lasted_s is None:
        return None
    return Merged(
        row["changed"],
        newer(row, "cautious", 0),
        lasted_s,
        by_name(operators, "core_s"),
        by_name(operators, "planned_core_s"),
        {name: int(count) for name, count in by_name(paths, "surprises").items()} or None,
    )


def past_run(row: sqlite3.Row, sums: sqlite3.Row) -> PastRun:
    """A run from its row and the sums over its rounds."""
    options = json.loads(row["options"])
    if not isinstance(options, dict):
        raise TypeError("run.options is no JSON object")
    return PastRun(
        **{key: row[key] for key in ("number", "name", "policy", "engine", "mode", "workload", "started")},
        pipeline=pipeline_from_json(row["pipeline"]),
        options=options,
        finished=bool(row["finished"]),
        rounds=int(sums["rounds"]),
        changes=int(sums["changes"]),
        errors=int(sums["errors"]),
        duration_s=sums["duration_s"],
    )
