"""A running pipeline: one streaming query per operator, joined by logs.

Everything lives in one folder, so that a run that was killed continues there: checkpoints, logs, numbers of tasks, and
results. Only the rows of logs may be elsewhere, in a broker.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mead.cpu import ShareManager
from mead.spark.log.store import LogError
from mead.spark.log.stream_log import StreamLog
from mead.spark.log.tasks import write_number
from mead.spark.pipeline.operators import OnBatches, OperatorError, Work
from mead.spark.pipeline.orphans import OrphanSweep
from mead.spark.pipeline.query import Query, last_begun, last_finished
from mead.spark.pipeline.query_builder import CHECKPOINTS, STAMPS, STREAMS, TASKS, QueryBuilder
from mead.spark.pipeline.run_folder import set_aside
from mead.spark.pipeline.wiring import RESULTS, Wiring
from mead.spark.runtime.java_machine import NO_ANSWER, spark_loss
from mead.spark.runtime.workers import find_processes
from mead.spark.sources.inputs import Input
from mead.spark.sources.rabbitmq.blocks import RabbitStreams
from mead.spark.sources.trace import hold_warm_up
from mead.spark.telemetry.complaints import COMPLAINTS, Complaints
from mead.spark.telemetry.probe import Stamps
from mead.spark.telemetry.reports import BatchReport
from mead.spark.telemetry.tree_samples import TREES, TreeSample
from mead.values import Allocation, Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

WARM_UP = "warm-up"
"""The file that tells a source to warm up, in the folder of the run."""

WARM_BATCHES, WARM_S = 40, 10.0
"""After this many micro-batches, or seconds if they are far apart, an operator runs at about its normal speed."""

WARM_PATIENCE = 2
"""Stop warming an operator once the first has done this many times enough: few tuples may pass a filter."""

LANDING_S = 10
"""Interval at which results become Parquet files; one per micro-batch would be thousands."""

CALM_S = 60.0
"""A query that has run this long counts as recovered, and its failures are forgotten."""

MOST_RESTARTS = 1000
"""Maximum number of restarts that are remembered."""


@dataclass(frozen=True, eq=False)
class BatchRows:
    """The rows of one micro-batch."""

    stamps: Stamps
    """Of the rows that it read."""
    written: int
    followed: TreeSample
    """Rows of inputs that are followed to their end."""


@dataclass
class RunningPipeline:
    """Starts, watches and stops the queries. Only one thread at a time may call it."""

    spark: SparkSession
    pipeline: Pipeline
    source: Input
    work: Mapping[str, Work]
    folder: Path
    shares: ShareManager
    streams: RabbitStreams | None = None
    """RabbitMQ streams that join the operators; None for files in the folder."""
    start_allocation: Allocation | None = None
    """The allocation until the first order; None for the most that every operator may have."""
    follows: bool = False
    """Whether tasks note the rows of some inputs, so that it is known when all that came of them is done."""
    inputs: dict[str, Input] = field(default_factory=dict)
    queries: dict[str, Query] = field(default_factory=dict)
    restarts: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_RESTARTS))
    """Failures and restarts, oldest first."""
    on_restart: Callable[[str], None] = lambda _: None
    """Called for each of these, unless it repeats the one before, and for complaints of workers."""
    wiring: Wiring = field(init=False)
    complaints: Complaints = field(init=False)
    _builder: QueryBuilder = field(init=False)
    _orphans: OrphanSweep = field(init=False)
    _logs: dict[str, StreamLog] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder = self.folder.resolve()  # executors run in other folders
        self.wiring = Wiring(self.pipeline, self.streams)
        self.complaints = Complaints(self.folder / TASKS / COMPLAINTS)
        self._builder = QueryBuilder(
            self.spark,
            self.pipeline,
            self.wiring,
            self.source,
            self.work,
            self.folder,
            self.shares,
            LANDING_S,
            self.follows,
            self.inputs,
        )
        logs = [self.folder / STREAMS / operator for operator in self.pipeline.order]
        self._orphans = OrphanSweep(logs, self.folder / STAMPS)

    def start(self, waiting: Callable[[str], None] = lambda _: None, *, start_over: bool = False) -> None:
        """Start all queries, after all operators have been checked: nothing in the folder is changed before.

        ``start_over`` sets the files of earlier runs aside; otherwise callers have checked them (`check_folder`). A
        source that can warm up does so until ``begin``, unless this run continues an earlier one.
        """
        for operator in self.pipeline.order:
            waiting(f"checking {operator}")
            self._builder.check(operator)
        if start_over and (earlier := set_aside(self.folder)) is not None:
            log.warning("Arrivals, streams, checkpoints and results of earlier runs are now in %s", earlier)
        for kind in (STREAMS, CHECKPOINTS, TASKS, STAMPS, RESULTS):
            (self.folder / kind).mkdir(parents=True, exist_ok=True)
        self.complaints.open()
        warm_up, new = self.source.warm_up, last_finished(self._builder.checkpoint(self.pipeline.order[0])) is None
        if warm_up is not None and (new or warm_up.exists()):
            warm_up.write_bytes(b"")  # a run that was killed may have held it
        for operator in self.pipeline.order:
            self.order_tasks(operator, self.first_allocation[operator].replicas)
            self._logs[operator] = StreamLog(self.folder / STREAMS / operator, keep_notes=True)
        self.wiring.make_streams()
        try:
            writers = {name: self._builder.writer(name) for name in (*self.pipeline.order, *self.wiring.landings)}
        except LogError as error:
            raise OperatorError(str(error)) from None
        for name, writer in writers.items():
            waiting(f"starting the query of {name}")
            self.queries[name] = Query(writer.start(), self._builder.checkpoint(name))
            self.queries[name].await_source()

    @property
    def first_allocation(self) -> Allocation:
        """The allocation in force before any order."""
        return self.start_allocation or self.pipeline.most

    def rows(self, progress: BatchReport) -> BatchRows:
        """Return the stamps of the rows that a micro-batch read, and the rows that it wrote.

        Its tasks noted the stamps beside their files, or Spark aggregated them on the way.
        """
        noted, folder = self._logs[progress.query].take_batch_notes(progress.batch), self.folder / STAMPS
        followed = [TreeSample.read(note.get(TREES), folder) for note in noted.notes]
        if progress.observed:
            followed.append(TreeSample.from_observation(progress.observed))
            stamps = Stamps.from_observation(progress.observed)
        else:
            stamps = Stamps.merge([Stamps.from_note(note, folder) for note in noted.notes])
        return BatchRows(stamps, noted.rows, TreeSample.merge(followed))

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the counts of operators that count, since the beginning of the stream."""
        counting = [name for name, work in self.work.items() if isinstance(work, OnBatches) and work.counts]
        return {name: self._logs[name].counted for name in counting}

    def warm_up(self, limit_s: float, waiting: Callable[[str], None] = lambda _: None) -> None:
        """Wait until every operator is warm and has done all rows of the warm-up, up to the limit.

        No row of the warm-up is then under way, so that none counts in one operator and not in another. The source lets
        nothing more in until `begin`. Returns at once if the source does not warm up: its arrivals have begun already.
        """
        until_s, warm_up = time.monotonic() + limit_s, self.source.warm_up
        if warm_up is not None and warm_up.exists():
            self._warm_operators(until_s, waiting)
            hold_warm_up(warm_up)

            def late() -> bool:
                waiting("the rows of the warm-up go through")
                return time.monotonic() > until_s

            first, *others = self.pipeline.order
            self._wait(lambda: self.queries[first].is_idle, late)  # a question under way is older than the hold
            self._wait(lambda: self._is_at_rest(others, self._has_read_all), late)
        for unread in (self.folder / STAMPS).iterdir():  # left by the warm-up, or by a run that was killed
            unread.unlink(missing_ok=True)

    def begin(self) -> None:
        """Let the arrivals begin after the warm-up."""
        if self.source.warm_up is not None:
            self.source.warm_up.unlink(missing_ok=True)

    def _warm_operators(self, until_s: float, waiting: Callable[[str], None]) -> None:
        for operator in self.pipeline.order:
            enough = self._enough_batches(operator)
            while (
                (done := self._batches(operator)) < enough
                and not self._gets_no_more(operator)
                and time.monotonic() < until_s
            ):
                waiting(f"{operator} warms up, {done} of {enough:.0f} micro-batches")
                self.revive()
                time.sleep(0.1)

    def _enough_batches(self, operator: str) -> float:
        batches = self.pipeline.operator(operator).batches
        return WARM_BATCHES if not batches or not batches.trigger_s else min(WARM_BATCHES, WARM_S / batches.trigger_s)

    def _batches(self, operator: str) -> int:
        last = self.queries[operator].last
        return last.batch + 1 if last else 0

    def _gets_no_more(self, operator: str) -> bool:
        """Return whether an operator is idle and will get nothing more to warm up with.

        The source may have let in all that it can, and nothing passed a filter before this operator.
        """
        first = self.pipeline.order[0]
        last = self.queries[first].last
        over = last is not None and self.source.is_warmed_up(last)
        if operator == first:
            return over
        many = self._batches(first) >= WARM_PATIENCE * self._enough_batches(first)
        return (over or many) and self._is_caught_up(operator)

    def order_tasks(self, query: str, tasks: int) -> None:
        """Set the number of tasks that read the query's input, from its next micro-batch on."""
        write_number(self.folder / TASKS / query, tasks)

    def revive(self) -> str:
        """Restart failed queries after a pause; return a line about those that are down, or an empty one.

        From time to time this also removes files of failed attempts.
        """
        self._report_complaints()
        self._orphans.sweep_if_due()
        now_s = time.monotonic()
        down = []
        for name, query in self.queries.items():
            if query.ended:
                continue
            if query.running.isActive:
                if query.failures and now_s > query.started_s + CALM_S:
                    query.failures = 0
                continue
            if query.waits_until_s is None:
                query.note_failure(now_s, query.reason)
                self.report_restart(f"{name} failed and is started again: {query.failed_because}")
            if now_s < (query.waits_until_s or 0.0):
                down.append(name)
                continue
            try:
                query.running = self._builder.writer(name).start()
            except Exception as error:
                if spark_loss(self.spark.sparkContext):
                    raise
                query.note_failure(now_s, " ".join(str(error).split())[:300])  # tried again later
                self.report_restart(f"{name} could not be started: {query.failed_because}")
                down.append(name)
            else:
                query.waits_until_s, query.started_s = None, now_s
                query.await_source()
        return f"{' and '.join(down)} is down and will be started again" if down else ""

    @property
    def failing(self) -> str | None:
        """The first query that has failed and finished no micro-batch since; None if there is none."""
        return next((name for name, query in self.queries.items() if query.is_failing), None)

    def report_restart(self, what: str) -> None:
        """Remember and report a failure."""
        if not self.restarts or self.restarts[-1] != what:
            self.on_restart(what)
        self.restarts.append(what)

    def _report_complaints(self) -> None:
        """Report each complaint of the workers once."""
        for complaint in self.complaints.new():
            self.on_restart(complaint)

    def drain(self, limit_s: float, given_up: Callable[[], bool] = lambda: False) -> bool:
        """Stop the source, and wait until everything that it has let in is processed.

        Returns False if that takes longer than the limit, or ``given_up`` returns True.
        """
        until_s, source = time.monotonic() + limit_s, self.queries[self.pipeline.order[0]]

        def late() -> bool:
            return time.monotonic() > until_s or given_up()

        if not self._wait(source.end_after_this_batch, late):
            return False
        others = [name for name in self.queries if name != self.pipeline.order[0]]
        return source.stop(until_s) and self._wait(lambda: self._is_at_rest(others, self._is_caught_up), late)

    def _is_at_rest(self, names: Sequence[str], has_finished: Callable[[str], bool]) -> bool:
        """Return whether all these queries have finished, while the source lets nothing in.

        In a loop, an operator that has caught up may get more from one that is checked after it. So all are checked
        twice: one that was idle at the first check and has begun no micro-batch since has sent nothing by the second.
        """
        before = [last_begun(self._builder.checkpoint(name)) for name in names]
        rest = all(has_finished(name) for _ in range(2) for name in names)
        return rest and before == [last_begun(self._builder.checkpoint(name)) for name in names]

    def _wait(self, until: Callable[[], bool], late: Callable[[], bool]) -> bool:
        while not until():
            if late():
                return False
            self.revive()
            time.sleep(0.02)
        return True

    def stop(self, limit_s: float = 10.0) -> None:
        """Stop all queries: between micro-batches if the limit allows. Then end their Python processes.

        Another run in the same session starts its own.
        """
        for query in self.queries.values():
            with suppress(*NO_ANSWER):  # Java has ended, and its queries with it
                query.end_after_this_batch()
        until_s = time.monotonic() + limit_s
        for query in self.queries.values():
            query.stop(until_s)
        for source in self.inputs.values():
            source.close()
        for operator in self.pipeline.operators:
            processes = {*self.shares.processes(operator.name), *find_processes(self.shares.group(operator.name))}
            for pid in processes:
                with suppress(ProcessLookupError):  # it ends with its daemon
                    os.kill(pid, signal.SIGTERM)
        for unread in (self.folder / STAMPS).glob("*"):  # of micro-batches after the last reading
            unread.unlink(missing_ok=True)

    def _is_caught_up(self, name: str) -> bool:
        """Return whether a query is idle and has no rows waiting."""
        return self.queries[name].is_idle and self._has_read_all(name)

    def _has_read_all(self, name: str) -> bool:
        """Return whether a query is in no micro-batch and has no rows waiting. It may be asking its source for more."""
        query, source = self.queries[name], self.inputs[name]
        if not query.is_complete:
            return False
        last = query.last
        return (source.count_completed(last) if last else 0) >= (source.count_arrived(last) or 0)
