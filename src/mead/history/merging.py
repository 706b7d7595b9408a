"""Merges old rounds of a run while it goes on, so that its history grows by a few megabytes a day.

Rounds of the last hour stay. Older ones become half-minutes, the step of the windows in which requirements are judged:
counts, times and core-seconds are added up, so that every figure of a report stays the same. The last change of a
half-minute stands for all changes in it. Rounds after it have a row of their own, which shows its effect.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import takewhile
from math import ceil
from typing import Any

from mead.history.old_rounds import LastChange, OldRound, read_rounds
from mead.history.rows import PHASES
from mead.values import STEP_S

KEPT_S = 3_600.0
"""Rounds of this last part of a run are never merged."""

LATEST = 600
"""Rounds after a merged one that may still have readings from its time."""

LASTED_S = "(SELECT lasted_s FROM round WHERE round.run = part.run AND round.number = part.round)"

MERGED = {
    "round": {
        "rounds": "sum(coalesce(rounds, 1))",
        "observed_s": "max(observed_s)",
        "interval_s": "sum(interval_s)",
        "rate_per_s": "sum(rate_per_s * interval_s) / nullif(sum(iif(rate_per_s IS NULL, NULL, interval_s)), 0)",
        **{f"{phase}_s": f"sum({phase}_s)" for phase in PHASES},
        "changed": "sum(changed)",
        "cautious": "total(caution > 1)",
        "caution": "max(caution)",
        "lasted_s": "sum(lasted_s)",
        "follows_round": ":follows_round",
        "follows_change": ":follows_change",
    },
    "operator": {
        **{name: f"sum({name})" for name in ("arrived", "completed", "busy_s", "throttled_s")},
        "backlog": "max(iif(round = :last, backlog, NULL))",
        "core_s": f"sum(share * replicas * {LASTED_S})",
        "planned_core_s": f"sum(coalesce(planned_share * planned_replicas, share * replicas) * {LASTED_S})",
    },
    "path": {
        name: f"sum({name})" for name in ("completed", "response_sum_s", "late", "checked_sum_s", "expected_sum_s")
    },
}
"""By table, the columns of a round once it stands for a group of them. Its decision stays its own."""

LASTED = """
UPDATE round SET lasted_s = coalesce((
    SELECT later.time_s FROM round AS later
    WHERE later.run = round.run AND later.number > round.number ORDER BY later.number LIMIT 1
) - time_s, 0.0) WHERE run = ? AND number BETWEEN ? AND ?
"""


class RoundMerger:
    """Knows which rounds of one run lie in the same half-minute, and merges them when they are old."""

    def __init__(self, run: int) -> None:
        self.run = run
        self._parts: deque[list[int]] = deque()
        """Half-minute, first and last round, oldest first."""
        self._change = LastChange()
        self._change_after_merge = self._change

    def add(self, time_s: float, number: int) -> None:
        """Note a round. A part begins just after a multiple of the step, as a window does."""
        part = ceil(time_s / STEP_S)
        if self._parts and self._parts[-1][0] == part:
            self._parts[-1][2] = number
        else:
            self._parts.append([part, number, number])

    def merge(self, connection: sqlite3.Connection, now_s: float) -> int:
        """Merge all parts that are old, in the transaction of the caller; returns how many ``forget`` may drop."""
        old = list(takewhile(lambda part: part[0] * STEP_S <= now_s - KEPT_S, self._parts))
        self._change_after_merge = deepcopy(self._change) if old else self._change
        for _, first, last in old:
            _merge_part(connection, self.run, first, last, self._change_after_merge)
        return len(old)

    def forget(self, parts: int) -> None:
        """Drop parts that have been merged and committed."""
        self._change = self._change_after_merge
        for _ in range(parts):
            self._parts.popleft()


@dataclass(frozen=True)
class _Group:
    """Rounds that become one row."""

    rounds: Sequence[OldRound]
    start: int
    """The first round, of any group, since the last change that is shown before them."""

    @property
    def kept(self) -> int:
        """The number of the round that stands for all: the last change, or else the last one."""
        return ([one for one in self.rounds if one.changed] or self.rounds)[-1].number

    @property
    def numbers(self) -> str:
        return ", ".join(str(one.number) for one in self.rounds)


def _merge_part(connection: sqlite3.Connection, run: int, first: int, last: int, change: LastChange) -> None:
    """Merge the rounds of one half-minute. ``change`` has seen all rounds before it."""
    rounds = read_rounds(connection, run, first, last)
    if not rounds:  # all were lost while the file could not be written
        return
    connection.execute(LASTED, (run, first, last))
    surprises = change.see(connection, run, rounds)
    groups = list(_groups(rounds))
    for group in groups:
        _merge(connection, run, group)
    for group in groups:  # only now, because the merged rows may point to each other
        _redirect(connection, run, group, first, last + LATEST)
    if sum(one.changed for one in rounds) > 1:
        # The rows no longer tell how each change turned out. The first one with a change says it for all.
        changed = sorted(group.kept for group in groups if any(one.changed for one in group.rounds))
        for number in changed:
            connection.executemany(
                "UPDATE path SET surprises = ? WHERE run = ? AND round = ? AND place = ?",
                [(found if number == changed[0] else 0, run, number, place) for place, found in surprises.items()],
            )


def _groups(rounds: Sequence[OldRound]) -> Iterator[_Group]:
    """The groups of a half-minute: up to the last change, and after it, failed and blind rounds apart.

    With one change at most, rounds whose late readings belong to different changes stay apart: its effect is exact.
    """
    changes = [one for one in rounds if one.changed]
    shown = {one.alike: one.number for one in changes} | {
        (one.alike, one.applied): one.number for one in changes if one.applied
    }
    cuts = set(shown.values())
    starts: dict[int, int] = {}
    groups: dict[Any, list[OldRound]] = {}
    for one in rounds:
        after = sum(cut < one.number for cut in cuts)
        starts.setdefault(after, one.number)
        key = after, one.alike, one.follows_change if len(changes) <= 1 else None
        groups.setdefault(key, []).append(one)
    for (after, *_), group in groups.items():
        yield _Group(group, starts[after])


def _merge(connection: sqlite3.Connection, run: int, group: _Group) -> None:
    """Let one round of the group stand for all, and delete the others."""
    named = {
        "run": run,
        "kept": group.kept,
        "last": group.rounds[-1].number,
        "follows_round": _followed([one.follows_round for one in group.rounds], group.start),
        "follows_change": _followed([one.follows_change for one in group.rounds], group.start),
    }
    for table, key in (("path", "round"), ("operator", "round"), ("round", "number")):
        place = "" if table == "round" else f"AND part.place = {table}.place"
        connection.execute(
            f"UPDATE {table} SET ({', '.join(MERGED[table])}) = "  # noqa: S608 - names and numbers of ours
            f"(SELECT {', '.join(MERGED[table].values())} FROM {table} AS part "
            f"WHERE part.run = :run AND part.{key} IN ({group.numbers}) {place}) "
            f"WHERE run = :run AND {key} = :kept",
            named,
        )
        connection.execute(
            f"DELETE FROM {table} WHERE run = :run AND {key} IN ({group.numbers}) AND {key} != :kept",  # noqa: S608
            named,
        )


def _redirect(connection: sqlite3.Connection, run: int, group: _Group, first: int, last: int) -> None:
    """Let rounds that follow one of the group follow the one that stands for it."""
    for follows in ("follows_round", "follows_change"):
        connection.execute(
            f"UPDATE round SET {follows} = ? WHERE run = ? AND number BETWEEN ? AND ? "  # noqa: S608
            f"AND {follows} IN ({group.numbers}) AND {follows} != ?",
            (group.kept, run, first, last, group.kept),
        )


def _followed(numbers: Sequence[int | None], start: int) -> int | None:
    """The round or change before all of a group, if any of it followed one; else the first inside."""
    known = [number for number in numbers if number is not None]
    return max((number for number in known if number < start), default=min(known, default=None))
