"""Writes the rounds of one run as they happen, without delaying or stopping control."""

from __future__ import annotations

import logging
import sqlite3
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from mead.history.grounds_json import grounds_to_json
from mead.history.merging import RoundMerger
from mead.history.rows import PHASES, Row, number, operator_rows, path_rows, rate_per_s, text
from mead.history.schema import FAULTS
from mead.values import Allocation, Pipeline, Round

log = logging.getLogger(__name__)

MOST_WAITING = 3_600
"""Rounds that are kept while the file cannot be written: an hour at a round per second."""

MERGED_ONLY = {"round": 3, "operator": 2, "path": 1}
"""By table, the number of its last columns that only merged rounds use."""


class _Rows(NamedTuple):
    """The rows of one round."""

    round: Row
    operators: list[Row]
    paths: list[Row]


class _Past(NamedTuple):
    """A round that readings may still come from."""

    time_s: float
    number: int
    expected_s: Mapping[str, float]
    """By path, the mean response time that was predicted for the allocation in force after it."""


class Recorder:
    """Writes rounds to a history.

    If the file cannot be written, it logs that once, keeps the rounds and tries again.

    ``batch`` rounds share a commit, so a writer that is killed loses that many rounds at most.
    """

    def __init__(
        self, connection: sqlite3.Connection, run: int, pipeline: Pipeline, *, advises: bool, batch: int
    ) -> None:
        self.run, self.pipeline, self.advises, self.batch = run, pipeline, advises, batch
        self.lost = 0
        """Rounds missing from the file: it could not be written for too long, or the round makes no rows."""
        self._connection = connection
        self._file = connection.execute("PRAGMA database_list").fetchone()[2]
        self._waiting: deque[_Rows] = deque()
        self._next_try = batch
        self._number = 0
        self._in_force: Allocation | None = None if advises else pipeline.most
        self._advised: Allocation | None = None
        self._rounds: deque[_Past] = deque(maxlen=MOST_WAITING)
        self._changes: deque[_Past] = deque([_Past(0.0, 0, {})], maxlen=MOST_WAITING)
        self._merger = RoundMerger(run)

    def __call__(self, this: Round) -> None:
        """Add a round, and write if enough of them wait."""
        try:
            self._waiting.append(self._rows_of(this))
        except Exception as error:  # noqa: BLE001 - nothing that happens here may stop the loop
            self.lost += 1
            if self.lost == 1:
                log.warning("the history lacks the round at %s s: %s: %s", this.time_s, type(error).__name__, error)
        if len(self._waiting) >= self._next_try:
            self.flush()

    def flush(self) -> None:
        """Write all waiting rounds now, or log what prevents it."""
        troubled = self._next_try > self.batch
        try:
            self._write()
        except FAULTS as error:
            if not troubled:
                log.warning("%s cannot be written (%s); control goes on, and later rounds try again", self._file, error)
            while len(self._waiting) > MOST_WAITING:
                self._waiting.popleft()
                self.lost += 1
            self._next_try = min(2 * max(len(self._waiting), self.batch), MOST_WAITING + 1)
            return
        if troubled:
            log.warning("%s is written again; it lacks %d rounds", self._file, self.lost)
        self._next_try = self.batch

    def conclude(self, figures: Mapping[str, Mapping[str, float | None]]) -> None:
        """Write figures of the whole run: by path, and by an empty name for the run."""
        rows = [
            (self.run, about, name, value)
            for about, named in figures.items()
            for name, value in named.items()
            if number(value) is not None
        ]
        try:
            self._connection.executemany("INSERT OR REPLACE INTO figure VALUES (?, ?, ?, ?)", rows)
        except FAULTS as error:
            log.warning("%s lacks the figures of run %d (%s)", self._file, self.run, error)

    def finish(self) -> None:
        """Write all waiting rounds, and mark the run as finished."""
        self.flush()
        if self._waiting:
            log.warning("%s lacks the last %d rounds of run %d", self._file, len(self._waiting), self.run)
        try:
            self._connection.execute("UPDATE run SET finished = 1 WHERE number = ?", (self.run,))
        except FAULTS as error:
            log.warning("%s lacks the end of run %d (%s)", self._file, self.run, error)

    def abandon(self) -> None:
        """Write all waiting rounds of a run that failed. A run without any, as one that was refused, is removed."""
        self.flush()
        if self._number == 0:
            try:
                self._connection.execute("DELETE FROM run WHERE number = ?", (self.run,))
            except FAULTS as error:
                log.warning("%s keeps run %d, which never began (%s)", self._file, self.run, error)

    def _write(self) -> None:
        """Write all waiting rounds in one transaction."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            for table, rows in (
                ("round", [this.round for this in self._waiting]),
                ("operator", [row for this in self._waiting for row in this.operators]),
                ("path", [row for this in self._waiting for row in this.paths]),
            ):
                if not rows:
                    continue
                places = ", ".join([*("?" * len(rows[0])), *["NULL"] * MERGED_ONLY[table]])
                connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)  # noqa: S608 - names of ours
            merged = self._merger.merge(connection, self._rounds[-1].time_s) if self._rounds else 0
            connection.execute("COMMIT")
        except FAULTS:
            if connection.in_transaction:  # some errors have rolled back already
                connection.execute("ROLLBACK")
            raise
        self._waiting.clear()
        self._merger.forget(merged)

    def _rows_of(self, this: Round) -> _Rows:
        before, seen, plan = this.since(self._in_force), this.observation, this.plan
        planned = this.in_force if plan is None else plan.allocation
        changed = this.changes(before, self._advised if self.advises else None)
        applied = planned == this.in_force
        observed_s = None if seen is None else number(seen.time_s)
        key = (self.run, self._number + 1)
        follows, follows_change = _last_before(self._rounds, observed_s), _last_before(self._changes, observed_s)
        expected_s = {} if follows is None or seen is None or seen.missing else follows.expected_s
        rows = _Rows(
            round=(
                *key,
                float(this.time_s),
                observed_s,
                None if seen is None else number(seen.interval_s),
                None if seen is None else rate_per_s(seen),
                "" if seen is None else text(seen.missing),
                "" if plan is None else text(str(plan.reason)),
                text(this.error),
                int(changed),
                int(applied),
                None if follows is None else follows.number,
                None if follows_change is None else follows_change.number,
                *(number(this.phase_s.get(phase)) for phase in PHASES),
                None if plan is None else number(plan.grounds.caution),
                None if plan is None else grounds_to_json(plan.grounds, self.pipeline),
                this.cause.value,
            ),
            operators=[(*key, *row) for row in operator_rows(this, self.pipeline, before)],
            paths=[(*key, *row) for row in path_rows(this, self.pipeline, expected_s, advised=self.advises)],
        )
        self._number += 1
        self._merger.add(this.time_s, self._number)
        self._rounds.append(_Past(this.time_s, self._number, self._expected_s(this)))
        if changed and applied:
            self._changes.append(self._rounds[-1])
        self._in_force, self._advised = this.in_force, planned
        return rows

    def _expected_s(self, this: Round) -> dict[str, float]:
        means_s = {path: number(this.expected_mean_s(path, advised=self.advises)) for path in self.pipeline.paths}
        return {path: mean_s for path, mean_s in means_s.items() if mean_s is not None}


def _last_before(rounds: deque[_Past], time_s: float | None) -> _Past | None:
    """The last round before that time. Readings are rarely late, so the search starts at the end."""
    if time_s is None:
        return None
    return next((one for one in reversed(rounds) if one.time_s < time_s), None)
