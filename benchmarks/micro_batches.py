"""A query whose micro-batches follow each other without a pause, and what one of them costs."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from mead.spark.runtime.fast_profile import FastProfile
from mead.spark.runtime.java_machine import java_cpu_s, java_pid

if TYPE_CHECKING:
    from benchmarks.common import quiet_spark
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
else:  # imported by a script, whose folder is where its imports come from
    from common import quiet_spark

SKIPPED_BATCHES = 5
"""The first batches of a query plan, compile and start workers."""

COLUMNS = "id long, arrival_us long"


class Rows(InputPartition):
    """The rows from one number to another."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__(None)
        self.first, self.last = first, last


@dataclass
class EndlessReader(DataSourceStreamReader):
    """Has new rows whenever it is asked, until the file ``end`` exists."""

    rows: int
    end: str

    def initialOffset(self) -> dict[str, int]:
        """No rows yet."""
        return {"rows": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        """A few more."""
        del limit
        over = os.path.exists(self.end)  # noqa: PTH110 - as cheap as can be
        return {"rows": start["rows"] + self.rows * (not over)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """A single task reads all rows."""
        return [Rows(start["rows"], end["rows"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Rows that have just arrived."""
        numbers = np.arange(partition.first, partition.last)  # type: ignore[attr-defined]
        yield pa.record_batch({"id": numbers, "arrival_us": time.time_ns() // 1000 - numbers[::-1] + numbers[0]})


class Endless(DataSource):
    """Options: ``rows`` and ``end``, as above."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format(...)``."""
        return "endless"

    def schema(self) -> str:
        """Numbers and stamps."""
        return COLUMNS

    def streamReader(self, schema: Any) -> EndlessReader:
        """Reads the rows."""
        del schema
        return EndlessReader(int(self.options["rows"]), self.options["end"])


@dataclass(frozen=True)
class Measured:
    """Milliseconds per micro-batch."""

    wall: float
    java: float
    """CPU."""
    python: float
    """CPU of workers, and of whatever else is started."""
    commits: float
    """As Spark itself reports it, as are the two below."""
    planning: float
    running: float
    start: float
    """CPU until the first micro-batch is done."""

    @property
    def cpu(self) -> float:
        """CPU of the whole application."""
        return self.java + self.python

    @classmethod
    def median(cls, rounds: Sequence[Measured]) -> Measured:
        """The median of each figure."""
        return cls(*(statistics.median(getattr(one, field.name) for one in rounds) for field in fields(cls)))


def session(profile: FastProfile) -> SparkSession:
    """A session on two cores, with the endless source."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call] # workers have no path to this folder
    spark = profile.start(quiet_spark())
    spark.dataSource.register(Endless)
    return spark


def family_cpu_s() -> float:
    """CPU seconds of this process and of all that descend from it, Java and the Python workers among them."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            values = status.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        pid = int(status.parent.name)
        parents[pid], ticks[pid] = int(values[1]), sum(map(int, values[11:15]))
    family = {os.getpid()}
    while grown := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= grown
    return sum(ticks[pid] for pid in family) / os.sysconf("SC_CLK_TCK")


def await_batch(query: StreamingQuery, batch: int) -> int:
    """Wait until this batch is done; the number of the last one that is."""
    while True:
        progress = query.lastProgress
        if progress is not None and progress.batchId >= batch:
            return int(progress.batchId)
        if not query.isActive:
            raise RuntimeError(f"the query ended: {query.exception()}")
        time.sleep(0.01)


def measure(spark: SparkSession, start: Callable[[Path, Path], StreamingQuery], seconds: float) -> Measured:
    """A fresh query for a while, from the end of one batch to the end of another.

    ``start`` is given a folder for all that the query writes, and the file that ends its source.
    """
    java = java_pid(spark.sparkContext)

    def cpu_s() -> tuple[float, float]:
        used_s = java_cpu_s(java) or 0.0
        return used_s, family_cpu_s() - used_s

    with tempfile.TemporaryDirectory() as name:
        folder, ordered_s = Path(name), sum(cpu_s())
        query = start(folder, folder / "end")
        await_batch(query, 0)
        start_s = sum(cpu_s()) - ordered_s
        first = await_batch(query, SKIPPED_BATCHES)
        started_s, before_s = time.perf_counter(), cpu_s()
        time.sleep(seconds)
        last = await_batch(query, await_batch(query, first + 1) + 1)
        wall_s, after_s = time.perf_counter() - started_s, cpu_s()
        durations = [progress.durationMs for progress in query.recentProgress if first < progress.batchId <= last]
        (folder / "end").touch()  # a query that is stopped within a batch leaves error messages
        query.processAllAvailable()
        query.stop()

    def median_ms(*names: str) -> float:
        return statistics.median(sum(duration.get(name, 0) for name in names) for duration in durations)

    per_batch = 1e3 / (last - first)
    return Measured(
        wall_s * per_batch,
        (after_s[0] - before_s[0]) * per_batch,
        (after_s[1] - before_s[1]) * per_batch,
        median_ms("walCommit", "commitOffsets"),
        median_ms("queryPlanning"),
        median_ms("addBatch"),
        1e3 * start_s,
    )
