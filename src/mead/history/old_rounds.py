"""Old rounds of a run, read before they are merged, and the effects of the changes among them."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mead.values import surprising, times_predicted

UNKNOWN = "EXISTS (SELECT 1 FROM operator WHERE run = :run AND round = number AND {0}share * {0}replicas IS NULL)"

OLD = f"""
SELECT number, time_s, changed, applied, missing != '', follows_round, follows_change,
       error != '', missing != '', reason = '', {UNKNOWN.format("")}, {UNKNOWN.format("planned_")}, number = 1
FROM round WHERE run = :run AND number BETWEEN :first AND :last ORDER BY number
"""  # noqa: S608 - names of ours

PATHS = """
SELECT round, place, iif(late IS NULL, NULL, completed), response_sum_s, predicted_mean_s
FROM path WHERE run = ? AND round BETWEEN ? AND ? ORDER BY round, place
"""


class OldRound(NamedTuple):
    """One round that is to be merged."""

    number: int
    time_s: float
    changed: bool
    applied: bool
    missing: bool
    follows_round: int | None
    follows_change: int | None
    alike: tuple[Any, ...]
    """Only rounds with the same values can be one: reports count failed and blind ones apart. The first round of a run
    stays alone, because nothing says what was in force before it."""


def read_rounds(connection: sqlite3.Connection, run: int, first: int, last: int) -> list[OldRound]:
    """The rounds from the first to the last number, oldest first."""
    rows = connection.execute(OLD, {"run": run, "first": first, "last": last})
    return [OldRound._make((*row[:7], tuple(row[7:]))) for row in rows]


class LastChange:
    """Compares the tuples since the last change with its predictions, path by path, as a report does."""

    def __init__(self) -> None:
        self._time_s = 0.0
        self._predicted_s: Mapping[int, float | None] = {}
        """By place of a path; empty before the first change, and if the last one was not applied."""
        self._completed: Counter[int] = Counter()
        self._sum_s: defaultdict[int, float] = defaultdict(float)

    def see(self, connection: sqlite3.Connection, run: int, rounds: Sequence[OldRound]) -> dict[int, int]:
        """Add rounds, oldest first; returns by path how many changes had a surprising effect.

        A change counts when the next one ends its effect.
        """
        paths: dict[int, list[tuple[int, int | None, float | None, float | None]]] = defaultdict(list)
        for number, *values in connection.execute(PATHS, (run, rounds[0].number, rounds[-1].number)):
            place, completed, sum_s, predicted_s = values
            paths[number].append((place, completed, sum_s, predicted_s))
        surprises = {place: 0 for found in paths.values() for place, *_ in found}
        for one in rounds:
            for place, completed, sum_s, _ in paths[one.number]:
                if not one.missing and completed is not None and sum_s is not None:
                    self._completed[place] += completed
                    self._sum_s[place] += sum_s
            if one.changed:
                for place, predicted_s in self._predicted_s.items():
                    surprises[place] += self._surprising(place, predicted_s, one.time_s)
                self._time_s = one.time_s
                self._predicted_s = {place: value for place, *_, value in paths[one.number]} if one.applied else {}
                self._completed.clear()
                self._sum_s.clear()
        return surprises

    def _surprising(self, place: int, predicted_s: float | None, until_s: float) -> bool:
        mean_s = self._sum_s[place] / self._completed[place] if self._completed[place] else None
        return surprising(times_predicted(predicted_s, mean_s), until_s - self._time_s)
