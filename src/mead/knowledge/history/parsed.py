"""Rows of a history as values. A file may be older than a column, and whoever only looks does not change it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from mead.knowledge.allocation import Allocation, Resources
from mead.knowledge.because import Because
from mead.knowledge.history.values import Effect, InForce
from mead.knowledge.plan import Prediction

KNOWN = {one.value for one in Because}


def newer(row: sqlite3.Row, column: str, default: Any) -> Any:
    """What a column holds that older files lack, or the default where there is nothing."""
    value = row[column] if column in row.keys() else None  # noqa: SIM118 - a row holds values
    return default if value is None else value


def because_of(word: str | None) -> Because:
    """The reason in one word; not said where the file is older than that, or has a word of a later time."""
    return Because(word) if word in KNOWN else Because.UNSAID


def allocation_of(rows: Sequence[sqlite3.Row], prefix: str) -> Allocation | None:
    """What those columns hold; None if they are empty."""
    if any(row[f"{prefix}share"] is None or row[f"{prefix}replicas"] is None for row in rows):
        return None
    return Allocation.of({row["name"]: Resources(row[f"{prefix}share"], row[f"{prefix}replicas"]) for row in rows})


def effect_of(
    path: sqlite3.Row, decided_s: float, seen: sqlite3.Row | None, mean_s: float | None, *, applied: bool
) -> Effect:
    """Predicted at ``decided_s``, and what was seen afterwards: of an applied plan until the next one of its kind.

    ``mean_s`` is what was seen until the next round, whatever was in force.
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
