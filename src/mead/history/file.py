"""A history: several runs in one SQLite file, written while they happen and readable at any time."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from mead.history.grounds_json import grounds_from_json
from mead.history.parsing import allocation_of, by_name, cause_of, effect_of, newer
from mead.history.pipeline_json import pipeline_from_json, pipeline_to_json
from mead.history.recorder import Recorder
from mead.history.records import ROUND_INTERVAL, Checked, Decision, PastRound, PastRun, errors_of
from mead.history.rows import PHASES
from mead.history.schema import BY_RUN, CHECKED, EXPECTED, FOLLOWED, HistoryError, connect
from mead.values import Grounds, OperatorReading, PathReading, Pipeline

IN_FOLDER = "history.sqlite"
"""File name of the history in the folder of a run."""


class History:
    """A history, opened to write (``open``) or to read (``read``). A file has one writer per run, and many readers.

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
            recorder.finish() if failure is None else recorder.flush()
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
        rows = self._rows(
            """
            SELECT run.*, count(round.number) AS rounds, total(round.changed) AS changes,
                   total(round.error != '') AS errors, coalesce(max(round.time_s), 0) AS duration_s
            FROM run LEFT JOIN round ON round.run = run.number GROUP BY run.number ORDER BY run.number
            """
        )
        try:
            return [_past_run(row) for row in rows]
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise HistoryError(f"{self.path}: holds values that no run writes ({error})") from error

    def run(self, number: int) -> PastRun:
        """The run of that number."""
        runs = {run.number: run for run in self.runs()}
        if number not in runs:
            known = f"those that it has are {min(runs)} to {max(runs)}" if runs else "it has none"
            raise HistoryError(f"{self.path}: there is no run {number}; {known}")
        return runs[number]

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
        rows = self._rows(
            f"SELECT * FROM round WHERE run = ? {which} ORDER BY number DESC LIMIT ?",  # noqa: S608
            run,
            -1 if limit is None else limit,
        )[::-1]
        first = rows[0]["number"] if rows else 0
        operators = self._by_round("SELECT * FROM operator WHERE run = ? AND round >= ?", run, first)
        paths = self._by_round("SELECT * FROM path WHERE run = ? AND round >= ?", run, first)
        # The query of the view, restricted to the rounds from the first one returned, so that long runs stay cheap.
        followed = FOLLOWED.format(kind=kind, which="AND round.run = ? AND round.number > ?")
        seen = {(row["round"], row["place"]): row for row in self._rows(followed, run, first)}
        at_once = seen
        if changes_only:
            followed = FOLLOWED.format(kind="round", which="AND round.run = ? AND round.number > ?")
            at_once = {(row["round"], row["place"]): row for row in self._rows(followed, run, first)}
        return [
            Decision(
                round=row["number"],
                time_s=row["time_s"],
                before=allocation_of(operators[row["number"]], "before_"),
                after=allocation_of(operators[row["number"]], "planned_"),
                target=allocation_of(operators[row["number"]], "target_"),
                changed=bool(row["changed"]),
                applied=bool(row["applied"]),
                reason=row["reason"],
                missing=row["missing"],
                error=row["error"],
                effects=tuple(
                    effect_of(
                        path,
                        row["time_s"],
                        seen.get(key),
                        at_once[key]["mean_s"] if key in at_once else None,
                        applied=bool(row["applied"]),
                    )
                    for path in paths[row["number"]]
                    for key in [(row["number"], path["place"])]
                ),
                caution=newer(row, "caution", 1.0),
                cause=cause_of(newer(row, "because", None)),
            )
            for row in rows
        ]

    def rounds(self, run: int, *, after: int = 0, limit: int | None = None) -> list[PastRound]:
        """The rounds after number ``after``, oldest first."""
        rows = self._rows(
            "SELECT * FROM round WHERE run = ? AND number > ? ORDER BY number LIMIT ?",
            run,
            after,
            -1 if limit is None else limit,
        )
        last = rows[-1]["number"] if rows else 0
        operators, paths = (
            self._by_round(f"SELECT * FROM {table} WHERE run = ? AND round > ? AND round <= ?", run, after, last)  # noqa: S608
            for table in ("operator", "path")
        )
        return [
            PastRound(
                round=row["number"],
                **{key: row[key] for key in ("time_s", "observed_s", "interval_s", "rate_per_s", "missing", "error")},
                in_force=allocation_of(operators[row["number"]], ""),
                operators={
                    r["name"]: OperatorReading(
                        r["arrived"],
                        r["completed"],
                        r["backlog"],
                        r["busy_s"],
                        throttled_s=newer(r, "throttled_s", 0.0),
                    )
                    for r in operators[row["number"]]
                    if None not in (r["arrived"], r["completed"], r["backlog"], r["busy_s"])
                },
                paths={
                    r["name"]: PathReading(r["completed"], r["response_sum_s"], r["late"])
                    for r in paths[row["number"]]
                    if None not in (r["completed"], r["response_sum_s"], r["late"])
                },
                phase_s={phase: row[f"{phase}_s"] for phase in PHASES if row[f"{phase}_s"] is not None},
                demands_s=by_name(operators[row["number"]], "demand_s"),
                overheads_s=by_name(operators[row["number"]], "overhead_s"),
            )
            for row in rows
        ]

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
        found = self._rows("SELECT * FROM round WHERE run = ? AND number = ?", run.number, decision)
        if not found:
            raise HistoryError(f"{self.path}: run {run.number} has no round {decision}; its last is {run.rounds}")
        return grounds_from_json(newer(found[0], "grounds", None), newer(found[0], "caution", None), run.pipeline)

    def checked(self, run: int) -> dict[str, Checked]:
        """By path, observed and predicted response times, summed over the rounds that a prediction preceded."""
        older = not self._rows("SELECT 1 FROM pragma_table_info('path') WHERE name = 'expected_mean_s'")
        expected = EXPECTED if older else f"coalesce(sooner.expected_mean_s, {EXPECTED})"
        rows = self._rows(CHECKED.format(expected=expected), run)
        return {row["path"]: Checked(row["seen_s"], row["expected_s"]) for row in rows}

    def model_errors(self, run: int) -> dict[str, float]:
        """By path, observed over predicted mean response time less 1, where something was predicted and seen."""
        return errors_of(self.checked(run))

    def figures(self, run: int) -> dict[str, dict[str, float]]:
        """The figures written at the end of the run: by path, and under the empty name those of the whole run."""
        if not self._rows("SELECT 1 FROM sqlite_master WHERE name = 'figure'"):
            return {}
        found: dict[str, dict[str, float]] = defaultdict(dict)
        for row in self._rows("SELECT * FROM figure WHERE run = ?", run):
            found[row["about"]][row["name"]] = row["value"]
        return dict(found)

    def _by_round(self, query: str, *values: int) -> Mapping[int, list[sqlite3.Row]]:
        """Rows by their round, in the order of the pipeline."""
        found: dict[int, list[sqlite3.Row]] = defaultdict(list)
        for row in self._rows(f"{query} ORDER BY round, place", *values):
            found[row["round"]].append(row)
        return found

    def _rows(self, query: str, *values: int) -> list[sqlite3.Row]:
        with self._errors("read"):
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise HistoryError(f"{self.path}: cannot be {doing} ({error})") from error


def _past_run(row: sqlite3.Row) -> PastRun:
    return PastRun(
        **{key: row[key] for key in ("number", "name", "policy", "engine", "mode", "workload", "started")},
        pipeline=pipeline_from_json(row["pipeline"]),
        options=json.loads(row["options"]),
        finished=bool(row["finished"]),
        rounds=row["rounds"],
        changes=int(row["changes"]),
        errors=int(row["errors"]),
        duration_s=row["duration_s"],
    )
