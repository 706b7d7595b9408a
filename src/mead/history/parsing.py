"""Values from the rows of a history. Older files lack some columns, and readers do not add them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from mead.history.records import Effect, InForce
from mead.values import Allocation, Cause, Prediction, Resources

KNOWN = {one.value for one in Cause}


def newer(row: sqlite3.Row, column: str, default: Any) -> Any:
    """The value of a column that older files lack, or the default."""
    value = row[column] if column in row.keys() else None  # noqa: SIM118 - a row holds values
    return default if value is None else value


def by_name(rows: Sequence[sqlite3.Row], column: str) -> dict[str, float]:
    """By operator, the values of a column that older files lack; without empty ones."""
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
