"""Read the streaming queries of an application from its event log, line by line, in bounded memory.

Reports of micro-batches (``QueryProgressEvent``) say how many rows came and how long the parts of a micro-batch took.
Ends of tasks (``SparkListenerTaskEnd``) say how long each task ran. Properties of jobs and stages say which query and
micro-batch they belong to. Of several attempts of a task, the first that succeeded counts.
"""

from __future__ import annotations

import json
import re
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mead.reports.advice.query_record import QueryRecord
from mead.spark.attach.engine import IN_PYTHON
from mead.spark.event_log.batches import BatchMaker, DatedBatch, date_batches, find_trigger_s
from mead.spark.event_log.files import ENABLE, EventLogError, EventLogFiles
from mead.spark.telemetry.reports import BatchReport

EVENT = re.compile(rb'\s*\{\s*"Event"\s*:\s*"([\w.$]+)"')

LISTENER = "org.apache.spark.sql.streaming.StreamingQueryListener$"

MOST_BATCHES, MOST_TASKS = 20_000, 4_000_000
"""The latest micro-batches of a query that are kept, as long as they have no more tasks than this."""

MOST_STAGES = 20_000
"""Stages whose query is remembered. Late attempts of tasks may end after their stage."""

REAL_TIME = "RealTimeStreamScan"
"""The plan node of a query in real-time mode, which has no micro-batches in our sense."""

Place = tuple[str, int]
"""A query's run and its micro-batch."""


@dataclass(frozen=True)
class ApplicationLog:
    """The streaming queries of an application."""

    name: str
    records: tuple[QueryRecord, ...]
    notes: tuple[str, ...]


@dataclass
class _Query:
    """The events of one query so far."""

    name: str
    maker: BatchMaker = field(default_factory=BatchMaker)
    batches: deque[DatedBatch] = field(default_factory=deque)
    kept_tasks: int = 0
    totals: Counter[str] = field(default_factory=Counter)
    """Rows and seconds: ``rows``, ``run_s``, ``cpu_s``, ``wasted_s``."""
    in_python: bool = False
    real_time: bool = False

    def keep(self, new: DatedBatch) -> None:
        """Keep a micro-batch, and drop the oldest ones if there are too many."""
        self.batches.append(new)
        self.kept_tasks += sum(step.size for step in new.batch.steps)
        while len(self.batches) > MOST_BATCHES or self.kept_tasks > MOST_TASKS:
            self.kept_tasks -= sum(step.size for step in self.batches.popleft().batch.steps)


@dataclass
class TaskTimes:
    """The tasks of a micro-batch so far: by stage and partition, start and end in milliseconds."""

    stages: dict[int, dict[int, tuple[int, int]]] = field(default_factory=dict)
    repeated: bool = False


@dataclass
class _Reader:
    """The state of reading."""

    name: str = "application"
    queries: dict[str, _Query] = field(default_factory=dict)
    """By id, which is the same after a restart."""
    runs: dict[str, str] = field(default_factory=dict)
    """Ids of queries by the ids of their runs."""
    stages: OrderedDict[int, Place] = field(default_factory=OrderedDict)
    tasks: dict[Place, TaskTimes] = field(default_factory=dict)
    cores: dict[str, int] = field(default_factory=dict)
    """By executor."""
    most_cores: dict[str, int] = field(default_factory=dict)
    task_cpus: int = 1
    local: bool = False
    busy_s: Counter[str] = field(default_factory=Counter)
    """Task seconds by query; those of other jobs have an empty id."""
    first_ms: float = np.inf
    last_ms: float = 0.0
    ended: bool = False

    def read(self, event: str, said: Mapping[str, Any]) -> None:
        """Take in one event."""
        handler = HANDLERS.get(event)
        if handler is not None:
            handler(self, said)

    def application_start(self, said: Mapping[str, Any]) -> None:
        self.name = str(said["App Name"])

    def environment(self, said: Mapping[str, Any]) -> None:
        settings = said["Spark Properties"]
        self.local = str(settings.get("spark.master", "")).startswith("local")
        self.task_cpus = max(1, int(settings.get("spark.task.cpus", 1)))

    def executor_added(self, said: Mapping[str, Any]) -> None:
        cores = int(said["Executor Info"]["Total Cores"])
        self.cores[said["Executor ID"]] = cores
        self.most_cores[said["Executor ID"]] = cores

    def executor_removed(self, said: Mapping[str, Any]) -> None:
        self.cores.pop(said["Executor ID"], None)

    def application_end(self, _: Mapping[str, Any]) -> None:
        self.ended = True

    def job_start(self, said: Mapping[str, Any]) -> None:
        place = self._place(said.get("Properties"))
        for stage in said["Stage IDs"]:
            self._own(int(stage), place)
        if place is not None:
            query = self.queries[self.runs[place[0]]]
            scopes = [str(rdd.get("Scope", "")) for stage in said["Stage Infos"] for rdd in stage["RDD Info"]]
            query.in_python |= any(IN_PYTHON.search(scope) for scope in scopes)
            query.real_time |= any(REAL_TIME in scope for scope in scopes)

    def stage_submitted(self, said: Mapping[str, Any]) -> None:
        self._own(int(said["Stage Info"]["Stage ID"]), self._place(said.get("Properties")))

    def _place(self, properties: Mapping[str, Any] | None) -> Place | None:
        """Tell to which run and micro-batch a job belongs; None for other jobs."""
        properties = properties or {}
        query, batch = properties.get("sql.streaming.queryId"), properties.get("streaming.sql.batchId")
        if query is None or batch is None:
            return None
        run = str(properties.get("spark.jobGroup.id", query))
        self._query(str(query), run, "")
        return run, int(batch)

    def _own(self, stage: int, place: Place | None) -> None:
        if place is not None:
            self.stages[stage] = place
            if len(self.stages) > MOST_STAGES:
                self.stages.popitem(last=False)

    def _query(self, query: str, run: str, name: str) -> _Query:
        self.runs[run] = query
        found = self.queries.setdefault(query, _Query(name or f"query-{query[:8]}"))
        if name:
            found.name = name
        return found

    def task_end(self, said: Mapping[str, Any]) -> None:
        info, metrics = said["Task Info"], said.get("Task Metrics") or {}
        stage, partition = int(said["Stage ID"]), int(info.get("Partition ID", info["Index"]))
        start_ms, end_ms = int(info["Launch Time"]), int(info["Finish Time"])
        if end_ms < start_ms:
            raise ValueError("a task ends before it starts")
        self.first_ms, self.last_ms = min(self.first_ms, start_ms), max(self.last_ms, end_ms)
        place = self.stages.get(stage)
        owner = "" if place is None else self.runs[place[0]]
        self.busy_s[owner] += (end_ms - start_ms) / 1e3  # type: ignore[assignment]  # seconds
        if place is None:
            return
        query, times = self.queries[owner], self.tasks.setdefault(place, TaskTimes())
        done = times.stages.setdefault(stage, {})
        succeeded = not info["Failed"] and not info["Killed"] and said["Task End Reason"]["Reason"] == "Success"
        if not succeeded or partition in done:
            times.repeated |= succeeded and partition in done
            query.totals["wasted_s"] += (end_ms - start_ms) / 1e3  # type: ignore[assignment]
            return
        done[partition] = start_ms, end_ms
        query.totals["run_s"] += int(metrics.get("Executor Run Time", end_ms - start_ms)) / 1e3  # type: ignore[assignment]
        query.totals["cpu_s"] += int(metrics.get("Executor CPU Time", 0)) / 1e9  # type: ignore[assignment]

    def query_started(self, said: Mapping[str, Any]) -> None:
        query = self._query(str(said["id"]), str(said["runId"]), str(said.get("name") or ""))
        query.maker.restart()

    def query_progress(self, said: Mapping[str, Any]) -> None:
        progress = said["progress"]
        query = self._query(str(progress["id"]), str(progress["runId"]), str(progress.get("name") or ""))
        report = BatchReport.read(named_values(progress))
        tasks = self.tasks.pop((report.run, report.batch), None)
        query.totals["rows"] += report.rows
        slots = max(1, sum(cores // self.task_cpus for cores in self.cores.values()))
        batch = query.maker.make(report, tasks.stages if tasks else {}, slots, repeated=bool(tasks and tasks.repeated))
        if batch is not None:
            query.keep(batch)

    def query_terminated(self, said: Mapping[str, Any]) -> None:
        for place in [place for place in self.tasks if place[0] == said["runId"]]:
            del self.tasks[place]

    def records(self) -> list[QueryRecord]:
        """Return the queries, in the order in which they started."""
        return [self._record(key, query) for key, query in self.queries.items() if query.batches]

    def _record(self, key: str, query: _Query) -> QueryRecord:
        lasted_s = max(self.last_ms - self.first_ms, 1.0) / 1e3
        others = sum(seconds for owner, seconds in self.busy_s.items() if owner != key) / lasted_s
        each = Counter(self.most_cores.values()).most_common(1)
        trigger_s = find_trigger_s([dated.batch for dated in query.batches])
        batches = date_batches(query.batches, trigger_s)
        return QueryRecord(
            query.name,
            batches,
            slots_per_core=1 / self.task_cpus,
            executor_cores=None if self.local or not each else each[0][0],
            trigger_s=trigger_s,
            max_rows=max((batch.rows for batch in batches if batch.left > 0), default=None),
            rows=query.totals["rows"],
            run_s=query.totals["run_s"],
            cpu_s=query.totals["cpu_s"],
            wasted_s=query.totals["wasted_s"],
            in_python=query.in_python,
            others_slots=others,
        )


HANDLERS: Mapping[str, Callable[[_Reader, Mapping[str, Any]], None]] = {
    "SparkListenerApplicationStart": _Reader.application_start,
    "SparkListenerApplicationEnd": _Reader.application_end,
    "SparkListenerEnvironmentUpdate": _Reader.environment,
    "SparkListenerExecutorAdded": _Reader.executor_added,
    "SparkListenerExecutorRemoved": _Reader.executor_removed,
    "SparkListenerJobStart": _Reader.job_start,
    "SparkListenerStageSubmitted": _Reader.stage_submitted,
    "SparkListenerTaskEnd": _Reader.task_end,
    f"{LISTENER}QueryStartedEvent": _Reader.query_started,
    f"{LISTENER}QueryProgressEvent": _Reader.query_progress,
    f"{LISTENER}QueryTerminatedEvent": _Reader.query_terminated,
}
"""The handler of each event. The reader skips all other events."""


def read_event_log(path: Path, progress: Callable[[float], None] = lambda _: None) -> ApplicationLog:
    """Read a log. ``progress`` gets the part that is done. Raises EventLogError."""
    files = EventLogFiles.find(path)
    total, reader = max(files.size_bytes, 1), _Reader()
    for place, line in files.lines(lambda done: progress(done / total)):
        found = EVENT.match(line)
        if found is None:
            if not line.strip():
                continue
            raise EventLogError(f"{place}: is no event of Spark; {ENABLE}")
        event = found[1].decode()
        if event not in HANDLERS:
            continue
        try:
            reader.read(event, json.loads(line))
        except (ArithmeticError, AttributeError, KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
            raise EventLogError(
                f"{place}: cannot use {event} ({type(error).__name__}: {str(error)[:80]}); copy the log again, "
                "or report this line"
            ) from error
    return ApplicationLog(reader.name, *_sorted_out(files, reader))


def _sorted_out(files: EventLogFiles, reader: _Reader) -> tuple[tuple[QueryRecord, ...], tuple[str, ...]]:
    """Return the queries that can be advised on, and notes about the log and the others."""
    notes = []
    if files.running or not reader.ended:
        notes.append("the application had not ended: the log holds what was written so far")
    if files.cut:
        notes.append(f"{files.cut}; the rest was left out")
    in_real_time = {query.name for query in reader.queries.values() if query.real_time}
    notes += [f"{name}: runs in real-time mode, for which there is no advice" for name in sorted(in_real_time)]
    records = [record for record in reader.records() if record.name not in in_real_time]
    if not records:
        why = "; ".join(["has no streaming query with finished micro-batches", *notes])
        raise EventLogError(f"{files.path}: {why}; let a query run for some minutes with the log enabled")
    return tuple(records), tuple(notes)


def named_values(progress: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report in the form of ``query.lastProgress``: all rows, offsets as objects, observed values by name."""
    sources = [
        {**source, **{key: _parsed(source.get(key)) for key in ("endOffset", "latestOffset")}}
        for source in progress["sources"]
    ]
    rows = sum(source["numInputRows"] for source in sources)
    observed = {
        name: dict(zip([column["name"] for column in row["schema"]["fields"]], row["values"], strict=True))
        for name, row in (progress.get("observedMetrics") or {}).items()
        if isinstance(row, dict) and "schema" in row
    }
    # Only a query with one source has one backlog.
    return {**progress, "numInputRows": rows, "sources": sources[:1] * (len(sources) == 1), "observedMetrics": observed}


def _parsed(offset: Any) -> Any:
    try:
        return json.loads(offset) if isinstance(offset, str) else offset
    except ValueError:  # an offset in a form of the source's own
        return None
