"""A history: several runs in one SQLite file, written while they happen and readable at any time."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from mead.history.cells import Cells
from mead.history.grounds_json import grounds_from_json
from mead.history.parsing import Seen, decision_of, newer, past_run, round_of
from mead.history.pipeline_json import pipeline_to_json
from mead.history.recorder import Recorder
from mead.history.records import ROUND_INTERVAL, Checked, Decision, PastRound, PastRun, errors_of
from mead.history.schema import BY_RUN, CHECKED, CHECKED_SUMS, EXPECTED, FAULTS, FOLLOWED, HistoryError, connect
from mead.values import Grounds, PathReading, Pipeline

IN_FOLDER = "history.sqlite"
"""File name of the history in the folder of a run."""

LONGEST_S = 1e9
"""A run that lasts longer than thirty years has a damaged time."""

DAMAGED = "the file is damaged: restore a copy of it, or choose another file or folder"


class History:
    """A history, opened to write (``open``) or to read (``read``).

    A file has one writer per run, and many readers.

    >>> from tempfile import TemporaryDirectory
    >>> from mead.values.pipeline import Operator
    >>> from mead.values.round import Round
    >>> pipeline = Pipeline("one", [Operator("matcher", 0.0015)])
    >>> with TemporaryDirectory() as folder, History.open(Path(folder) / "runs.sqlite") as history:
    ...     record = history.begin("trial", pipeline, policy="static", started="2026-01-01T12:00:00Z")
    ...     record(Round(time_s=60.0, error="observe: TimeoutError: no answer"))
    ...     [(run.name, run.rounds, run.errors) for run in history.runs()]
    [('trial', 1, 1)]
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self._connection = connection
        self._connection.row_factory = sqlite3.Row
        self._recorders: list[Recorder] = []
        self._known: dict[str, Cells] = {}

    @classmethod
    def open(cls, path: Path) -> History:
        """Open the file to add runs. It is created if it does not exist."""
        return cls(connect(path, write=True), path)

    @classmethod
    def read(cls, path: Path) -> History:
        """Open the file to read only, even while a run is being written."""
        return cls(connect(path, write=False), path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        for recorder in self._recorders:
            recorder.finish() if failure is None else recorder.abandon()
        self._connection.close()

    def begin(
        self,
        name: str,
        pipeline: Pipeline,
        *,
        policy: str,
        started: str,
        options: Mapping[str, Any] | None = None,
        engine: str = "simulator",
        mode: str = "act",
        workload: str = "",
        interval_s: float | None = None,
        batch: int = 1,
    ) -> Recorder:
        """Add a run; returns the recorder of its rounds.

        ``interval_s`` is the time between two rounds, ``batch`` the number of rounds that share a commit. In virtual
        time, batches of a hundred cut the cost to a tenth; on Spark, every round should be in the file at once.
        """
        interval = {} if interval_s is None else {ROUND_INTERVAL: interval_s}
        values = (
            name,
            pipeline_to_json(pipeline),
            policy,
            json.dumps({**(options or {}), **interval}, default=str),
            engine,
            mode,
            workload,
            started,
        )
        with self._errors("written"):
            places = ", ".join("?" * len(values))
            cursor = self._connection.execute(f"INSERT INTO run VALUES (NULL, {places}, 0)", values)  # noqa: S608
        recorder = Recorder(self._connection, cursor.lastrowid or 0, pipeline, advises=mode != "act", batch=batch)
        self._recorders.append(recorder)
        return recorder

    def runs(self) -> list[PastRun]:
        """All runs, oldest first."""
        return [self._past_run(row) for row in self._table("run", "ORDER BY number")]

    def run(self, number: int) -> PastRun:
        """The run of that number."""
        found = [row for row in self._table("run", "ORDER BY number") if row["number"] == number]
        if not found:
            [(first, last)] = self._rows("SELECT min(number), max(number) FROM run")
            known = "it has none" if first is None else f"those that it has are {first} to {last}"
            raise HistoryError(f"{self.path}: there is no run {number}; {known}")
        return self._past_run(found[0])

    def keep(self, last: int) -> int:
        """Delete all but the ``last`` newest runs, and free their space. Returns the number of deleted runs."""
        gone = [run.number for run in self.runs()][:-last]
        with self._errors("written"):
            for number in gone:
                self._connection.execute("BEGIN IMMEDIATE")
                for table in BY_RUN:
                    self._connection.execute(f"DELETE FROM {table} WHERE run = ?", (number,))  # noqa: S608
                self._connection.execute("DELETE FROM run WHERE number = ?", (number,))
                self._connection.execute("COMMIT")
            if gone:
                self._connection.execute("VACUUM")
        return len(gone)

    def decisions(self, run: int, *, changes_only: bool = False, limit: int | None = None) -> list[Decision]:
        """The last ``limit`` decisions, oldest first, each with its effects until the next decision of its kind."""
        kind, which = ("change", "AND changed") if changes_only else ("round", "")
        most = -1 if limit is None else limit
        rows = self._table("round", f"WHERE run = ? {which} ORDER BY number DESC LIMIT ?", run, most)[::-1]
        # The query of the view, restricted to the rounds from the first one returned, so that long runs stay cheap.
        first = rows[0]["number"] if rows else 0
        seen = self._followed(kind, run, first)
        return self._decisions(run, rows, seen, self._followed("round", run, first) if changes_only else seen)

    def plans(self, run: int, *, after: int, limit: int) -> list[Decision]:
        """The first ``limit`` decisions after that round, oldest first, without their effects."""
        rows = self._table("round", "WHERE run = ? AND number > ? ORDER BY number LIMIT ?", run, after, limit)
        return self._decisions(run, rows, {}, {})

    def _decisions(self, run: int, rows: Sequence[sqlite3.Row], seen: Seen, at_once: Seen) -> list[Decision]:
        operators, paths = (self._parts_of(table, run, rows) for table in ("operator", "path"))
        found = []
        for row in rows:
            with self._values_of(run, row["number"]):
                found.append(decision_of(row, operators[row["number"]], paths[row["number"]], seen, at_once))
        return found

    def _followed(self, kind: str, run: int, first: int) -> Seen:
        """By round and place of a path, the tuples that left it after that decision."""
        query = FOLLOWED.format(kind=kind, which="AND round.run = ? AND round.number > ?")
        return {(row["round"], row["place"]): row for row in self._rows(query, run, first)}

    def rounds(self, run: int, *, after: int = 0, limit: int | None = None) -> list[PastRound]:
        """The rounds after number ``after``, oldest first."""
        most = -1 if limit is None else limit
        rows = self._table("round", "WHERE run = ? AND number > ? ORDER BY number LIMIT ?", run, after, most)
        operators, paths = (self._parts_of(table, run, rows) for table in ("operator", "path"))
        found = []
        for row in rows:
            with self._values_of(run, row["number"]):
                found.append(round_of(row, operators[row["number"]], paths[row["number"]]))
        return found

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all queries inside see the same state, whatever a writer adds or merges meanwhile."""
        with self._errors("read"):
            self._connection.execute("BEGIN")
        try:
            yield
        finally:
            with suppress(*FAULTS):  # nothing was written, and a damaged file has been reported
                self._connection.execute("COMMIT")

    def path_totals(self, run: int) -> dict[str, PathReading]:
        """By path, the sum of its readings since the run began."""
        rows = self._rows(
            "SELECT name, sum(completed) AS completed, sum(response_sum_s) AS response_sum_s, sum(late) AS late "
            "FROM path WHERE run = ? GROUP BY name",
            run,
        )
        return {r["name"]: PathReading(r["completed"] or 0, r["response_sum_s"] or 0.0, r["late"] or 0) for r in rows}

    def grounds(self, run: PastRun, decision: int) -> Grounds:
        """The grounds of a round's decision; empty if the policy gave none, or the file predates them."""
        found = self._table("round", "WHERE run = ? AND number = ?", run.number, decision)
        if not found:
            [(into,)] = self._rows("SELECT min(number) FROM round WHERE run = ? AND number > ?", run.number, decision)
            merged = f"it was merged into round {into}" if into else ""
            raise HistoryError(
                f"{self.path}: run {run.number} has no round {decision}; {merged or f'its last is {run.rounds}'}"
            )
        with self._values_of(run.number, decision):
            return grounds_from_json(newer(found[0], "grounds", None), newer(found[0], "caution", None), run.pipeline)

    def checked(self, run: int) -> dict[str, Checked]:
        """By path, observed and predicted response times, summed over the rounds that a prediction preceded."""
        expected = f"coalesce(sooner.expected_mean_s, {EXPECTED})" if self._has("path", "expected_mean_s") else EXPECTED
        rows = self._rows(CHECKED_SUMS, run) if self._has("path", "checked_sum_s") else []
        rows = rows or self._rows(CHECKED.format(expected=expected), run)
        return {row["path"]: Checked(row["seen_s"], row["expected_s"]) for row in rows}

    def model_errors(self, run: int) -> dict[str, float]:
        """By path, observed over predicted mean response time less 1, where something was predicted and seen."""
        return errors_of(self.checked(run))

    def figures(self, run: int) -> dict[str, dict[str, float]]:
        """The figures written at the end of the run: by path, and under the empty name those of the whole run."""
        if not self._rows("SELECT 1 FROM sqlite_master WHERE name = 'figure'"):
            return {}
        found: dict[str, dict[str, float]] = defaultdict(dict)
        for row in self._table("figure", "WHERE run = ?", run):
            found[row["about"]][row["name"]] = row["value"]
        return dict(found)

    def _past_run(self, row: sqlite3.Row) -> PastRun:
        number = row["number"]
        each = "coalesce(rounds, 1)" if self._has("round", "rounds") else "1"
        [sums] = self._rows(
            f"SELECT total({each}) AS rounds, total(changed) AS changes, "  # noqa: S608 - names of ours
            f"total(iif(error != '', {each}, 0)) AS errors, "
            "coalesce(max(time_s), 0.0) AS duration_s FROM round WHERE run = ?",
            number,
        )
        if not isinstance(sums["duration_s"], float) or not 0 <= sums["duration_s"] <= LONGEST_S:
            self._table("round", "WHERE run = ? ORDER BY time_s DESC LIMIT 1", number)  # names a cell of a wrong type
            raise HistoryError(f"{self.path}: run {number}: lasts {sums['duration_s']} s by its rounds; {DAMAGED}")
        try:
            return past_run(row, sums)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise HistoryError(f"{self.path}: run {number}: holds values that no run writes ({error})") from error

    def _parts_of(self, table: str, run: int, rounds: Sequence[sqlite3.Row]) -> Mapping[int, list[sqlite3.Row]]:
        """Rows of operators or paths by their round, in the order of the pipeline."""
        found: dict[int, list[sqlite3.Row]] = defaultdict(list)
        if rounds:
            span = run, rounds[0]["number"], rounds[-1]["number"]
            for row in self._table(table, "WHERE run = ? AND round BETWEEN ? AND ? ORDER BY round, place", *span):
                found[row["round"]].append(row)
        return found

    def _has(self, table: str, column: str) -> bool:
        """Whether the file has a column that older ones lack."""
        return any(name == column for name, _ in self._cells(table).columns)

    def _cells(self, table: str) -> Cells:
        if table not in self._known:
            with self._errors("read"):
                self._known[table] = Cells(self._connection, table)
        return self._known[table]

    def _table(self, table: str, which: str, *values: int) -> list[sqlite3.Row]:
        """Complete rows of a table, whose cells are what their columns are for."""
        rows = self._rows(f"SELECT * FROM {table} {which}", *values)  # noqa: S608 - names of ours
        if wrong := self._cells(table).wrong(rows):
            raise HistoryError(f"{self.path}: {wrong}; {DAMAGED}")
        return rows

    @contextmanager
    def _values_of(self, run: int, nth: int) -> Iterator[None]:
        """Name the round whose values contradict each other."""
        try:
            yield
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise HistoryError(
                f"{self.path}: run {run}, round {nth}: holds values that no run writes ({error}); {DAMAGED}"
            ) from error

    def _rows(self, query: str, *values: int) -> list[sqlite3.Row]:
        with self._errors("read"):
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except FAULTS as error:
            raise HistoryError(f"{self.path}: cannot be {doing} ({error})") from error
