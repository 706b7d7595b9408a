"""A pipeline as streaming queries, one for each operator, joined by embedded logs; kept running and stopped gently.

Everything lives in one folder, so that a run that was killed goes on from there: checkpoints, the logs between
operators, the orders for the number of tasks, and the results.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from mead.execute.shares import ShareManager
from mead.knowledge.pipeline import Pipeline
from mead.spark.in_place import InPlace
from mead.spark.in_place import source as in_place
from mead.spark.inputs import Input, LogInput, check_stamped
from mead.spark.log import StreamLog
from mead.spark.log_sink import committed, into_log
from mead.spark.operators import OnBatches, OperatorError, Work, arrow_schema, struct
from mead.spark.probe import Stamps, probed
from mead.spark.progress import Progress
from mead.spark.tasks import PAUSED, order_tasks
from mead.spark.workers import own_workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

STREAMS, CHECKPOINTS, TASKS, STAMPS, RESULTS = "streams", "checkpoints", "tasks", "stamps", "results"
WARM_UP = "warm-up"
WARM_BATCHES, WARM_S = 40, 10.0
"""After so many micro-batches of an operator its speed is more or less that of every day; or, where they are far
between, after so many seconds."""

LANDING_S = 10
"""Results become Parquet files at this interval; at that of micro-batches there would be thousands of them."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
"""Before a query that has failed is started again: the first time, and at most if it fails again and again."""

CALM_S = 60.0
"""A query that has run so long has recovered."""

ERROR_LINE = re.compile(r"(\w+\.)*\w*(Error|Exception)\b(?!.*\.java)")
"""How the last line of a traceback begins."""


@dataclass
class Query:
    """One query, and how often it had to be started."""

    running: StreamingQuery
    started_s: float
    failures: int = 0
    waits_until_s: float | None = None
    """While it is down: when it is started again."""


@dataclass
class RunningPipeline:
    """Starts, watches and stops the queries. One thread at a time may call it."""

    spark: SparkSession
    pipeline: Pipeline
    source: Input
    work: Mapping[str, Work]
    folder: Path
    shares: ShareManager
    inputs: dict[str, Input] = field(default_factory=dict)
    queries: dict[str, Query] = field(default_factory=dict)
    restarts: list[str] = field(default_factory=list)
    """What failed and was started again, with the reason, oldest first."""
    _schemas: dict[str, str] = field(default_factory=dict)
    _logs: dict[str, StreamLog] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder = self.folder.resolve()  # executors work in folders of their own
        if self.pipeline.returns:
            edge = self.pipeline.returns[0]
            raise OperatorError(f"{self.pipeline.name}: Spark runs no loops, and {edge.source} leads to {edge.target}")
        for operator in self.pipeline.operators:
            if operator.batches and operator.batches.max_tuples:
                raise OperatorError(
                    f"operator {operator.name}: a micro-batch of Spark takes all that waits; no max_tuples"
                )
            sources = self.predecessors(operator.name)
            if len(sources) > 1:
                raise OperatorError(
                    f"operator {operator.name}: it reads from {' and '.join(sources)}, and a query has one source"
                )
        first = [operator.name for operator in self.pipeline.operators if not self.predecessors(operator.name)]
        if len(first) > 1:
            raise OperatorError(f"{self.pipeline.name}: one operator reads the source, not {' and '.join(first)}")

    @property
    def sinks(self) -> tuple[str, ...]:
        """Operators whose output leaves the pipeline."""
        inner = {edge.source for edge in self.pipeline.edges}
        return tuple(o.name for o in self.pipeline.operators if o.name not in inner)

    def predecessors(self, operator: str) -> list[str]:
        """Whose output it reads."""
        return [edge.source for edge in self.pipeline.edges if edge.target == operator]

    def start(self) -> None:
        """All queries, in the order of the flow: the schema of one is known when its predecessor has been built.

        A source that can warm up does so until ``begin``.
        """
        for kind in (STREAMS, CHECKPOINTS, TASKS, STAMPS, RESULTS):
            (self.folder / kind).mkdir(parents=True, exist_ok=True)
        (self.folder / WARM_UP).touch()
        for operator in self.pipeline.order:
            self.order_tasks(operator, self.pipeline.most[operator].replicas)
            self._logs[operator] = StreamLog(self.folder / STREAMS / operator, keep_notes=True)
            self.queries[operator] = Query(self._started(operator), time.monotonic())
        for operator in self.sinks:
            order_tasks(self._tasks(f"{operator}.{RESULTS}"), 1)
            self.queries[f"{operator}.{RESULTS}"] = Query(self._landing(operator), time.monotonic())

    def stamps(self, progress: Progress) -> Stamps:
        """Of the rows of a micro-batch: noted by its tasks beside their files, or aggregated by Spark on the way."""
        if progress.observed:
            return Stamps.observed(progress.observed)
        notes = self._logs[progress.query].notes(progress.batch)
        return Stamps.merged([Stamps.noted(note, self.folder / STAMPS) for note in notes])

    def begin(self, limit_s: float, waiting: Callable[[str], None] = lambda _: None) -> None:
        """Wait until every operator is warm, but no longer than the limit; then let the stream take its course."""
        until_s = time.monotonic() + limit_s
        for operator in self.pipeline.order:
            batches = self.pipeline.operator(operator).batches
            enough = (
                WARM_BATCHES if not batches or not batches.trigger_s else min(WARM_BATCHES, WARM_S / batches.trigger_s)
            )
            while (done := _batches(self.queries[operator].running)) < enough and time.monotonic() < until_s:
                waiting(f"{operator} warms up, {done} of {enough:.0f} micro-batches")
                self.revive()
                time.sleep(0.1)
        for unread in (self.folder / STAMPS).iterdir():  # of the warm-up, or of a run that was killed
            unread.unlink(missing_ok=True)
        (self.folder / WARM_UP).unlink(missing_ok=True)

    def order_tasks(self, operator: str, tasks: int) -> None:
        """So many from its next micro-batch on."""
        order_tasks(self._tasks(operator), tasks)

    def revive(self) -> str:
        """Start what has failed, after a pause. What is down is said in one line; empty if nothing is."""
        now_s = time.monotonic()
        down = []
        for name, query in self.queries.items():
            if query.running.isActive:
                if query.failures and now_s > query.started_s + CALM_S:
                    query.failures = 0
                continue
            if query.waits_until_s is None:
                query.failures += 1
                query.waits_until_s = now_s + _pause_s(query.failures)
                self.restarts.append(f"{name} failed and is started again: {_reason(query.running)}")
            if now_s < query.waits_until_s:
                down.append(name)
                continue
            try:
                query.running = self._started(name) if name in self.work else self._landing(name.rpartition(".")[0])
            except Exception as error:  # noqa: BLE001 - the others go on, and this one is tried again
                query.failures += 1
                query.waits_until_s = now_s + _pause_s(query.failures)
                self.restarts.append(f"{name} could not be started: {' '.join(str(error).split())[:300]}")
                down.append(name)
            else:
                query.waits_until_s, query.started_s = None, now_s
        return f"{' and '.join(down)} is down and will be started again" if down else ""

    def drain(self, limit_s: float) -> bool:
        """Let no more in at the source, and wait until everything has gone through. False if it takes longer."""
        until_s = time.monotonic() + limit_s
        for name in [*self.pipeline.order, *(f"{operator}.{RESULTS}" for operator in self.sinks)]:
            query = self.queries[name]
            if name in self.pipeline.order and not self.predecessors(name):
                self._pause(name)
            while not self._idle(name, query):
                if time.monotonic() > until_s:
                    return False
                self.revive()
                time.sleep(0.02)
        return True

    def stop(self, limit_s: float = 10.0) -> None:
        """Between micro-batches where that is possible within the limit: one that is stopped at work leaves noise."""
        for name in self.queries:
            self._pause(name)
        until_s = time.monotonic() + limit_s
        for query in self.queries.values():
            while query.running.isActive and query.running.status["isTriggerActive"] and time.monotonic() < until_s:
                time.sleep(0.01)
            with contextlib.suppress(Exception):  # it has failed in the meantime, or does not end in time
                query.running.stop()

    def _pause(self, name: str) -> None:
        order_tasks(self._tasks(name), PAUSED)

    def _idle(self, name: str, query: Query) -> bool:
        """Nothing runs and nothing waits."""
        if not query.running.isActive or query.running.status["isTriggerActive"]:
            return False
        source, progress = self.inputs[name], query.running.lastProgress
        if not isinstance(source, LogInput):
            return True
        done = json.loads(progress.sources[0].endOffset)["rows"] if progress else 0
        return bool(done >= (source.arrived(None) or 0))

    def _started(self, operator: str) -> StreamingQuery:
        """Its query. A function works in place, if its input can be read there."""
        work, source, first = self.work[operator], self._input(operator), not self.predecessors(operator)
        folder, tasks = self.folder / STREAMS / operator, self._tasks(operator)
        with own_workers(self.spark, operator, self.shares.group(operator)):
            reader = source.reader(tasks) if isinstance(work, OnBatches) else None
            if reader is not None and isinstance(work, OnBatches):
                schema = work.check(arrow_schema(reader[1]), operator)
                self._declare(operator, work.schema)
                stamps = self.folder / STAMPS if first else None
                name = f"mead-operator-{operator}"
                self.spark.dataSource.register(
                    in_place(name, InPlace(reader[0], work.function, folder, schema, stamps))
                )
                try:
                    writer = committed(self.spark.readStream.format(name).load(), folder)
                except AnalysisException as error:
                    raise OperatorError(
                        f"operator {operator}: workers cannot load its function: {_cause(error)}"
                    ) from error
            else:
                stream = source.load(self.spark, operator, tasks)
                check_stamped(dict(stream.dtypes), operator)
                output = work.output(probed(stream, every_stamp=first), operator)
                self._declare(operator, ", ".join(f"`{name}` {kind}" for name, kind in output.dtypes))
                writer = into_log(output, folder)
            batches = self.pipeline.operator(operator).batches
            if batches and batches.trigger_s:
                writer = writer.trigger(processingTime=f"{round(1000 * batches.trigger_s)} milliseconds")
            checkpoint = str(self.folder / CHECKPOINTS / operator)
            return writer.queryName(operator).option("checkpointLocation", checkpoint).start()

    def _declare(self, operator: str, schema: str) -> None:
        """What its output has for columns."""
        if operator not in self.sinks:
            check_stamped(_columns(schema), f"{operator}, whose output others read")
        self._schemas[operator] = schema

    def _landing(self, operator: str) -> StreamingQuery:
        """A query that moves results from the log of an operator into Parquet files."""
        name = f"{operator}.{RESULTS}"
        self.inputs[name] = LogInput(self.folder / STREAMS / operator, RESULTS, self._schemas[operator])
        stream = self.inputs[name].load(self.spark, name, self._tasks(name))
        return (
            stream.writeStream.format("parquet")
            .queryName(name)
            .option("path", str(self.folder / RESULTS / operator))
            .option("checkpointLocation", str(self.folder / CHECKPOINTS / name))
            .trigger(processingTime=f"{LANDING_S} seconds")
            .start()
        )

    def _input(self, operator: str) -> Input:
        before = self.predecessors(operator)
        if operator not in self.inputs:
            self.inputs[operator] = (
                LogInput(self.folder / STREAMS / before[0], operator, self._schemas[before[0]])
                if before
                else self.source
            )
        return self.inputs[operator]

    def _tasks(self, name: str) -> Path:
        return self.folder / TASKS / name


def _columns(schema: str) -> dict[str, str]:
    return {column.name: column.dataType.simpleString() for column in struct(schema)}


def _pause_s(failures: int) -> float:
    """Twice as long every time."""
    return float(min(FIRST_PAUSE_S * 2 ** min(failures - 1, 10), LONGEST_PAUSE_S))


def _batches(query: StreamingQuery) -> int:
    progress = query.lastProgress
    return progress.batchId + 1 if progress else 0


def _reason(query: StreamingQuery) -> str:
    error = query.exception()
    return _cause(error) if error else "it was stopped from outside"


def _cause(error: Exception) -> str:
    """What is wrong, in one line: the last of a Python traceback that names an error, or else the first of all."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if ERROR_LINE.match(line)]
    return (named[-1] if named else lines[0])[:300]
