"""The micro-batches of an attached query, kept for advice.

Reports of a running query do not tell how long its tasks took. So the work of a micro-batch counts as that of equal
tasks, as many as its widest stage had; an event log has the time of every task.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import replace
from math import ceil
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from mead.reports.advice.query_record import QueryRecord
from mead.spark.event_log.batches import BatchMaker, DatedBatch
from mead.spark.runtime.java_machine import NO_ANSWER
from mead.spark.telemetry.reports import BatchReport

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql.streaming.query import StreamingQuery

KEPT_BATCHES = 2000
"""The latest micro-batches that advice is made from."""


class LiveBatches:
    """Collects the micro-batches of one query. Reports come from the controller's thread, questions from any."""

    def __init__(self, query: StreamingQuery, context: SparkContext, cores: int, trigger_s: float | None) -> None:
        self._query, self._context, self._trigger_s = query, context, trigger_s
        settings = context.getConf()
        local = (context.master or "").startswith("local")
        self._executor_cores = None if local else int(settings.get("spark.executor.cores") or cores)
        task_cpus = int(settings.get("spark.task.cpus") or 1)
        self._slots_per_core, self._slots = 1 / task_cpus, max(1, cores // task_cpus)
        self._maker, self._kept, self._lock = BatchMaker(), deque[DatedBatch](maxlen=KEPT_BATCHES), Lock()
        self._tasks: int | None = None
        for progress in query.recentProgress:
            with suppress(ValueError):
                self.add(BatchReport.parse(progress.json))

    def add(self, report: BatchReport) -> None:
        """Add the report of a micro-batch."""
        with self._lock:
            made = self._maker.make(report, {}, self._slots)
            if made is not None:
                self._kept.append(made)

    def record(self, name: str, *, in_python: bool) -> QueryRecord:
        """Return what is known about the query."""
        tasks = self._widest_stage()
        with self._lock:
            dated = list(self._kept)
        batches = []
        for one in dated:
            batch = one.since(self._trigger_s)
            task_s = batch.work_s / ceil(tasks / batch.slots)
            batches.append(replace(batch, steps=(np.full(tasks, task_s),)))
        return QueryRecord(
            name,
            batches,
            slots_per_core=self._slots_per_core,
            executor_cores=self._executor_cores,
            trigger_s=self._trigger_s,
            max_rows=max((batch.rows for batch in batches if batch.left > 0), default=None),
            rows=sum(batch.rows for batch in batches),
            in_python=in_python,
            notes=(f"reports have no task times: {tasks} equal tasks are assumed; an event log has them",),
        )

    def _widest_stage(self) -> int:
        """Return the tasks of the widest stage of the latest job; those of the last call if Spark forgot it."""
        with suppress(*NO_ANSWER, ValueError):  # Java has ended, or no job is known
            tracker = self._context.statusTracker()
            job = tracker.getJobInfo(max(tracker.getJobIdsForGroup(self._query.runId)))
            stages = [tracker.getStageInfo(stage) for stage in (job.stageIds if job else ())]
            self._tasks = max((stage.numTasks for stage in stages if stage), default=self._tasks)
        return self._tasks or self._slots
