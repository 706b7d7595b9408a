"""Reports of streaming queries, queued in Java, fetched once a round.

A listener in Python would be called through a socket for every micro-batch of every query. This one is a few lines of
Java that put the report into a queue.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mead.spark.runtime.java_code import create_instance

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LISTENER = "mead.ProgressQueue"

LISTENER_SOURCE = Path(__file__).with_name("ProgressQueue.java")

ENGINE_STEPS = ("latestOffset", "getBatch", "queryPlanning", "walCommit")
"""Spark's steps before it processes the rows of a micro-batch; names as in its reports."""


@dataclass(frozen=True, eq=False)
class FinishedBatch:
    """A finished micro-batch, and the offset up to which it read its only source."""

    batch: int
    end_offset: Mapping[str, Any]
    latest_offset: Mapping[str, Any] | None = None
    """The end of the source at that time, if it reports one."""
    rows: int = 0
    """Rows by Spark's count; 0 if only the checkpoint is known."""


@dataclass(frozen=True, eq=False)
class BatchReport:
    """The report of one finished micro-batch."""

    query: str
    """The name of the query."""
    run: str
    """The id of the query's run, new with every start."""
    batch: int
    rows: int
    started_us: int
    """Start in microseconds since 1970, to the millisecond."""
    done_us: int
    """When its output could be read. Spark still has to record the commit after that."""
    took_s: float
    """Time from its start until the next one may start."""
    end_offset: Mapping[str, Any]
    """Offset up to which it read its only source."""
    latest_offset: Mapping[str, Any] | None
    observed: Mapping[str, Any]
    """Aggregates by the names of observation and aggregate."""
    planning_s: float = 0.0
    """Time of Spark's steps before it processes the rows."""

    @property
    def done(self) -> FinishedBatch:
        """The part of the report that inputs need."""
        return FinishedBatch(self.batch, self.end_offset, self.latest_offset, self.rows)

    @classmethod
    def parse(cls, message: str) -> BatchReport:
        """Parse Spark's JSON. Raises ValueError if it is implausible."""
        return cls.read(json.loads(message))

    @classmethod
    def read(cls, said: Any) -> BatchReport:
        """Read a report from parsed JSON. Raises ValueError if it is implausible."""
        try:
            progress = cls._read(said)
            least = min(progress.batch, progress.rows, progress.done_us - progress.started_us, progress.took_s)
        except (AttributeError, KeyError, TypeError, IndexError) as error:
            raise ValueError(f"cannot read a report of a query: {json.dumps(said)[:200]}") from error
        if least < 0:
            raise ValueError(f"{progress.query}: a report has negative numbers: {json.dumps(said)[:200]}")
        return progress

    @classmethod
    def _read(cls, said: Any) -> BatchReport:
        durations = said["durationMs"]
        started = datetime.fromisoformat(said["timestamp"])
        planning_ms = sum(durations.get(step, 0) for step in ENGINE_STEPS)
        before_ms = planning_ms + durations.get("addBatch", 0)
        source = said["sources"][0] if said["sources"] else {}
        started_us = round(started.timestamp() * 1e6)
        return cls(
            query=said["name"] or "",
            run=said["runId"],
            batch=said["batchId"],
            rows=said["numInputRows"],
            started_us=started_us,
            done_us=started_us + 1000 * before_ms,
            took_s=durations.get("triggerExecution", before_ms) / 1e3,
            end_offset=as_offset(source.get("endOffset")),
            latest_offset=as_offset(source.get("latestOffset")) or None,
            observed=said.get("observedMetrics") or {},
            planning_s=planning_ms / 1e3,
        )


class ReportQueue:
    """Reports of all queries of a session since the last fetch."""

    def __init__(self, spark: SparkSession) -> None:
        self._listen(spark.sparkContext, spark._jsparkSession)  # noqa: SLF001 - see _listen

    @classmethod
    def for_query(cls, context: SparkContext, query: StreamingQuery) -> ReportQueue:
        """Return a queue for the session in which a query runs."""
        queue = object.__new__(cls)
        queue._listen(context, query._jsq.sparkSession())  # noqa: SLF001 - Python cannot ask a query this
        return queue

    def _listen(self, context: SparkContext, session: Any) -> None:
        """Add the listener in Java, where no second process is needed."""
        self._streams = session.streams()
        self._queue = create_instance(context, LISTENER_SOURCE, LISTENER)
        self._streams.addListener(self._queue)

    def fetch(self) -> list[BatchReport]:
        """Return all reports since the last call, in order, without implausible ones."""
        sensible = []
        for message in self._queue.drain().splitlines():
            with suppress(ValueError):
                sensible.append(BatchReport.parse(message))
        return sensible

    def close(self) -> None:
        """Stop listening."""
        self._streams.removeListener(self._queue)


def as_offset(value: Any) -> Mapping[str, Any]:
    """Return an offset if it is an object, as those of ours and Kafka's are; otherwise an empty one."""
    return value if isinstance(value, dict) else {}
