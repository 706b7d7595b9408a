"""A query that a user has built and started, as an engine of the control loop.

The engine knows only the reports of its micro-batches. Without stamps on the rows, their response times are modelled: a
micro-batch takes the rows that came while the one before ran, so they are taken to have arrived evenly between the
start of the one before and its own; after a pause, since the source was last asked. This is exact in the mean for
steady arrivals. Rows that a source holds back, as with ``maxOffsetsPerTrigger``, have waited longer than the model
says.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import time_ns
from typing import TYPE_CHECKING, Any, Protocol

from mead.cpu import Adoption, CpuUsage, ShareManager, find_other_group
from mead.monitor import Arrivals, monitors
from mead.spark.attach.python_workers import PythonWorkers
from mead.spark.runtime.java_machine import NO_ANSWER
from mead.spark.sources.broker_inputs import sum_offsets
from mead.spark.telemetry.batch_times import add_stamps, batch_responses, find_stamp_fault
from mead.spark.telemetry.probe import OBSERVATION, Stamps
from mead.spark.telemetry.reports import BatchReport, ReportQueue
from mead.values import Allocation, Observation, OperatorReading, Pipeline

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql.streaming.query import StreamingQuery

    from mead.spark.attach.live_batches import LiveBatches

LOOK_US = 10_000
"""Interval at which an idle query without a trigger asks its source for data."""

PAUSE_US = 100_000
"""Micro-batches that follow each other directly are less than this apart."""

IN_PYTHON = re.compile(r"\b\w*(?:Python|Pandas|InArrow)\w*\b")
"""Names of plan nodes that work in Python."""

RATE_S = 10.0
"""Age limit of micro-batches from which the present rate is estimated."""


class AttachError(RuntimeError):
    """A query cannot be observed or controlled as asked. The message says why, and what to do."""


@dataclass(frozen=True)
class Batch:
    """Times between which the rows of a micro-batch arrived, and their number."""

    first_us: float
    started_us: int
    rows: int


class AttachedEngine:
    """The control loop's view of the query. Without ``shares`` it can only be observed."""

    def __init__(
        self,
        query: StreamingQuery,
        context: SparkContext,
        java: int,
        pipeline: Pipeline,
        kept_iats: int,
        shares: ShareManager | None,
    ) -> None:
        self.query, self.pipeline, self.shares = query, pipeline, shares
        self.operator = pipeline.operators[0]
        self.run = query.runId
        self.workers = PythonWorkers.of(context, java)
        self.adoption = Adoption(shares.group(self.operator.name) if shares else "")
        self.arrivals = Arrivals(kept_iats)
        self.paths = monitors(pipeline.paths, pipeline.requirements)
        self.allocation = pipeline.most
        self.exact = False
        """Whether the rows carry stamps."""
        self.observed_s = 0.0
        self._began_us = time_ns() // 1000
        self._throttled_s = 0.0
        self._last = BatchReport.parse(query.lastProgress.json) if query.lastProgress else None
        self._recent: deque[Batch] = deque()
        self._new: list[BatchReport] = []
        """Micro-batches since the last observation."""
        self._backlog = 0
        self._planned: bool | None = None
        """Whether the query's plan works in Python; None until there is a plan."""
        self.micro_batches: LiveBatches | None = None
        """Where micro-batches are kept for advice."""
        self._refuse_shared()
        self.pids = self._find()
        self._cpu_s = self.workers.cpu_s
        self.progress = ReportQueue.for_query(context, query)

    @property
    def trigger_s(self) -> float | None:
        """The query's trigger interval; None if micro-batches follow each other directly."""
        return self.operator.batches.trigger_s if self.operator.batches else None

    @property
    def in_python(self) -> bool:
        """Whether the query has Python workers here, whose CPU time can be measured."""
        if self._planned is None:
            plan = self.query._jsq.explainInternal(False)  # noqa: SLF001, FBT003 - Python only prints it
            self._planned = None if plan.startswith("No physical plan") else IN_PYTHON.search(plan) is not None
        return bool(self.pids) and self._planned is not False

    def apply(self, allocation: Allocation) -> None:
        """Set the share of all Python workers of the application, at once."""
        if self.shares is None:
            raise AttachError("cannot set shares: there is no share manager")
        if not self.in_python:
            raise AttachError("cannot set shares: no Python workers of the query run on this machine")
        self.shares.set_share(self.operator.name, allocation[self.operator.name].cores)
        self.allocation = allocation

    def observe(self, time_s: float) -> Observation:
        """Return readings since the last successful call."""
        fault = self._read()
        self.arrivals.at(time_ns() // 1000)
        reading = self._reading()
        interval_s, self.observed_s = time_s - self.observed_s, time_s
        return Observation(
            time_s=time_s,
            interval_s=interval_s,
            allocation=self.allocation,
            operators={self.operator.name: reading},
            paths={path: monitor.reading() for path, monitor in self.paths.items()},
            iats_s=self.arrivals.iats_s,
            counts=self.arrivals.counts,
            missing=fault,
        )

    def close(self) -> None:
        """Stop listening, move the workers back to their group, and lift their limits."""
        with suppress(*NO_ANSWER):  # Java has ended
            self.progress.close()
        try:
            self.adoption.release()
        finally:
            if self.shares is not None:
                self.shares.close()

    def _find(self) -> tuple[int, ...]:
        """Find the workers, and move new ones into the group, except those in another group of MEAD."""
        pids = self.workers.find()
        if self.shares is not None:
            self.adoption.adopt(pid for pid in pids if find_other_group(pid, self.adoption.folders) is None)
        return pids

    def _refuse_shared(self) -> None:
        """Raise AttachError if another run limits these workers: both would undo each other's limits."""
        groups = (find_other_group(pid, self.adoption.folders) for pid in self.workers.find())
        if self.shares is not None and (other := next(filter(None, groups), None)) is not None:
            raise AttachError(
                f"another run already limits the Python workers of this application, in {other}: "
                "control one query of an application, and only observe the others"
            )

    def _read(self) -> str:
        """Read the query's reports; return a fault of those that cannot be used."""
        fault = ""
        for progress in self.progress.fetch():
            if progress.run != self.run:
                continue
            self._new.append(progress)
            try:
                if self.micro_batches is not None:
                    self.micro_batches.add(progress)
                fault = self._add_report(progress) or fault
            except Exception as error:  # noqa: BLE001 - the other reports must not be lost
                fault = f"a report of the query cannot be used ({type(error).__name__}: {error})"
        return fault

    def _add_report(self, progress: BatchReport) -> str:
        """Add the report of one micro-batch; return what is implausible about it."""
        before, self._last = self._last, progress
        if progress.rows == 0:
            return ""
        self.exact = OBSERVATION in progress.observed
        first_us = came_since_us(progress, before, self.trigger_s)
        if self.exact:
            stamps = Stamps.from_observation(progress.observed)
        elif first_us is not None:
            stamps = Stamps.spread(progress.rows, first_us, float(progress.started_us))
        else:  # the first micro-batch: its arrival times are unknown
            return ""
        self._recent.append(
            Batch(progress.started_us if first_us is None else first_us, progress.started_us, stamps.rows)
        )
        if (fault := find_stamp_fault(progress, stamps, self.pipeline.requirements)) or not stamps.stamped:
            return fault
        add_stamps(self.arrivals, stamps)
        # Some sources deliver late: rows after the last stamp may still come.
        self.arrivals.known_until(min(progress.started_us, int(stamps.at_ranks_us[-1])))
        done = batch_responses(progress, stamps, self._began_us)
        for monitor in self.paths.values():
            monitor.add(done)
        return ""

    def _reading(self) -> OperatorReading:
        """Return the reading of this interval. Everything that can fail comes first."""
        self.pids = self._find()
        in_python, waiting, usage = self.in_python, self._waiting(), self._usage()
        completed = sum(progress.rows for progress in self._new)
        serving_s = [progress.took_s for progress in self._new if progress.rows]
        if in_python:
            busy_s = max(self.workers.cpu_s - self._cpu_s, 0.0)
        else:  # assume that the query used all cores it may
            busy_s = sum(serving_s) * self.allocation[self.operator.name].cores
        before, self._cpu_s, self._backlog, self._new = self._backlog, self.workers.cpu_s, waiting, []
        arrived = max(completed + self._backlog - before, 0)
        throttled_before_s, self._throttled_s = self._throttled_s, usage.throttled_s if usage else self._throttled_s
        throttled_s = self._throttled_s - throttled_before_s
        return OperatorReading(arrived, completed, self._backlog, busy_s, len(serving_s), sum(serving_s), throttled_s)

    def _usage(self) -> CpuUsage | None:
        return self.shares.usage(self.operator.name) if self.shares else None

    def _waiting(self) -> int:
        """Estimate the backlog: rows that the source reported as left, plus arrivals since at the present rate."""
        now_us = time_ns() // 1000
        while len(self._recent) > 1 and self._recent[0].started_us < now_us - RATE_S * 1e6:
            self._recent.popleft()
        if self._last is None:
            return 0
        left, status = rows_left(self._last), self.query.status
        if not left and not status["isTriggerActive"] and not status["isDataAvailable"]:
            self.arrivals.known_until(now_us)  # an idle query reports no micro-batches
            return 0
        if not self._recent:
            return left
        seconds = (self._recent[-1].started_us - self._recent[0].first_us) / 1e6
        rate_per_s = sum(batch.rows for batch in self._recent) / seconds if seconds > 0 else 0.0
        return left + round(rate_per_s * max(now_us - self._last.started_us, 0) / 1e6)


def rows_left(progress: BatchReport) -> int:
    """Return rows that a source still had when the micro-batch started, if it reports them, as Kafka does."""
    if progress.latest_offset is None or not _by_partition(progress.latest_offset):
        return 0
    return max(sum_offsets(progress.latest_offset) - sum_offsets(progress.end_offset), 0)


def _by_partition(offset: Mapping[str, Any]) -> bool:
    """Return whether offsets are numbers of rows by topic and partition."""
    return bool(offset) and all(isinstance(partitions, dict) for partitions in offset.values())


class TimeSpan(Protocol):
    """A micro-batch, as far as its times go."""

    @property
    def started_us(self) -> int:
        """Its start, since 1970."""

    @property
    def took_s(self) -> float:
        """Time until the next one may start."""


def came_since_us(progress: TimeSpan, before: TimeSpan | None, trigger_s: float | None) -> float | None:
    """Return the earliest arrival time of a micro-batch's rows; None for the first micro-batch."""
    if before is None:
        return None
    look_us = LOOK_US if trigger_s is None else trigger_s * 1e6
    paused_us = progress.started_us - (before.started_us + before.took_s * 1e6)
    if paused_us > look_us + PAUSE_US:  # the source had no data meanwhile
        return progress.started_us - look_us
    return float(min(before.started_us, progress.started_us))
