"""Checks that every cell of a history holds what its column is for, so that damage is named and not shown."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from math import inf

KINDS = {"INTEGER": (int,), "REAL": (float, int), "TEXT": (str,)}
"""By the declared type of a column, the values that it may hold. SQLite itself would hold any."""

WORDS = {"INTEGER": "a whole number", "REAL": "a finite number", "TEXT": "text"}


class Cells:
    """The columns of one table, with their types."""

    def __init__(self, connection: sqlite3.Connection, table: str) -> None:
        self.table = table
        self.columns: list[tuple[str, str]] = []
        kinds = []
        for _, name, declared, not_null, _, _ in connection.execute(f"PRAGMA table_info({table})"):
            self.columns.append((name, declared))
            kinds.append(KINDS.get(declared, (object,)) if not_null else (*KINDS.get(declared, (object,)), type(None)))
        self._kinds = tuple(kinds)

    def wrong(self, rows: Sequence[sqlite3.Row]) -> str:
        """The first cell of complete rows that does not fit, in words; empty if all fit."""
        for row in rows:
            if not all(_fits(value, kinds) for value, kinds in zip(row, self._kinds, strict=True)):
                return self._blame(row)
        return ""

    def _blame(self, row: sqlite3.Row) -> str:
        place = next(place for place, value in enumerate(row) if not _fits(value, self._kinds[place]))
        name, declared = self.columns[place]
        keys = dict(zip((column for column, _ in self.columns), row, strict=True))
        number = keys["number" if self.table in ("run", "round") else "run" if self.table == "figure" else "round"]
        of = f"run {number}" if self.table in ("run", "figure") else f"run {keys['run']}, round {number}"
        return f"{of}: {self.table}.{name} is {row[place]!r:.40}, not {WORDS.get(declared, declared)}"


def _fits(value: object, kinds: tuple[type, ...]) -> bool:
    return type(value) in kinds and (type(value) is not float or -inf < value < inf)
