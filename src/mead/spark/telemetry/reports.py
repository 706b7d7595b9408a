"""What streaming queries say of every micro-batch, collected inside the Java machine and fetched once a round.

A listener in Python would be called for every micro-batch of every query, each time through a socket. This one is a
few lines of Java that put the message into a queue; all that happens to the stream is that one more object is queued.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mead.spark.runtime.java_code import create_instance

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LISTENER = "mead.ProgressQueue"

LISTENER_SOURCE = """
package mead;

import java.util.concurrent.LinkedBlockingDeque;
import org.apache.spark.sql.streaming.StreamingQueryListener;

public class ProgressQueue extends StreamingQueryListener {
    private final LinkedBlockingDeque queue = new LinkedBlockingDeque(100000);

    public void onQueryStarted(StreamingQueryListener.QueryStartedEvent event) {
    }

    public void onQueryProgress(StreamingQueryListener.QueryProgressEvent event) {
        while (!queue.offerLast(event.progress())) {
            queue.pollFirst();
        }
    }

    public void onQueryTerminated(StreamingQueryListener.QueryTerminatedEvent event) {
    }

    public String drain() {
        StringBuilder all = new StringBuilder();
        Object one;
        while ((one = queue.pollFirst()) != null) {
            all.append(((org.apache.spark.sql.streaming.StreamingQueryProgress) one).json()).append('\\n');
        }
        return all.toString();
    }
}
"""
"""If nobody fetches, the oldest messages are dropped. They become text only when they are fetched."""

ENGINE_STEPS = ("latestOffset", "getBatch", "queryPlanning", "walCommit")
"""What Spark does before the rows of a micro-batch are worked on; names as in its reports."""


@dataclass(frozen=True, eq=False)
class FinishedBatch:
    """A finished micro-batch, and how far it has read its only source."""

    batch: int
    end_offset: Mapping[str, Any]
    latest_offset: Mapping[str, Any] | None = None
    """Where the source ended at that time, if it says so."""
    rows: int = 0
    """As Spark counts them; 0 where only the checkpoint tells of the micro-batch."""


@dataclass(frozen=True, eq=False)
class BatchReport:
    """The report of one finished micro-batch."""

    query: str
    """The name of the query."""
    run: str
    """The id of the query's run: a new one whenever the query is started."""
    batch: int
    rows: int
    started_us: int
    """When it started, in microseconds since 1970, to the millisecond."""
    done_us: int
    """When others could read its output. After that, Spark still has to write down that it is done."""
    took_s: float
    """From its start to the moment at which the next one may start."""
    end_offset: Mapping[str, Any]
    """How far it has read its only source."""
    latest_offset: Mapping[str, Any] | None
    observed: Mapping[str, Any]
    """Aggregates that were taken on the way, by the names of the observation and of the aggregate."""

    @property
    def done(self) -> FinishedBatch:
        """The part of the report that inputs need."""
        return FinishedBatch(self.batch, self.end_offset, self.latest_offset, self.rows)

    @classmethod
    def parse(cls, message: str) -> BatchReport:
        """From Spark's own text. Raises ValueError if it makes no sense."""
        try:
            progress = cls._read(json.loads(message))
            least = min(progress.batch, progress.rows, progress.done_us - progress.started_us, progress.took_s)
        except (AttributeError, KeyError, TypeError, IndexError) as error:
            raise ValueError(f"a message of a query is not understood: {message[:200]}") from error
        if least < 0:
            raise ValueError(f"{progress.query}: a message has numbers below 0: {message[:200]}")
        return progress

    @classmethod
    def _read(cls, said: Any) -> BatchReport:
        durations = said["durationMs"]
        started = datetime.fromisoformat(said["timestamp"])
        before_ms = sum(durations.get(step, 0) for step in (*ENGINE_STEPS, "addBatch"))
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
        )


class ReportQueue:
    """The reports of all queries of a session since they were last fetched."""

    def __init__(self, spark: SparkSession) -> None:
        self._listen(spark.sparkContext, spark._jsparkSession)  # noqa: SLF001 - see _listen

    @classmethod
    def for_query(cls, context: SparkContext, query: StreamingQuery) -> ReportQueue:
        """The same for the session in which a query runs, whichever that is."""
        queue = object.__new__(cls)
        queue._listen(context, query._jsq.sparkSession())  # noqa: SLF001 - Python cannot ask a query this
        return queue

    def _listen(self, context: SparkContext, session: Any) -> None:
        """Add the listener in Java, where no second process is needed."""
        self._streams = session.streams()
        self._queue = create_instance(context, LISTENER_SOURCE, LISTENER)
        self._streams.addListener(self._queue)

    def fetch(self) -> list[BatchReport]:
        """All reports since the last call, in the order in which they came, without those that make no sense."""
        sensible = []
        for message in self._queue.drain().splitlines():
            with suppress(ValueError):
                sensible.append(BatchReport.parse(message))
        return sensible

    def close(self) -> None:
        """Stop listening."""
        self._streams.removeListener(self._queue)


def as_offset(value: Any) -> Mapping[str, Any]:
    """Sources choose the form of their offsets. Those of ours and Kafka's are objects; any other becomes empty."""
    return value if isinstance(value, dict) else {}
