"""A recorded or generated trace as a stream: every tuple becomes available when its time has come.

Offsets are numbers of arrivals, and carry the time at which the stream began. So a query that is restarted from its
checkpoint goes on in the same course of time, and reads the same rows for the same offsets.

A query that has just started is slow: Java compiles, and workers start. So there can be a warm-up, in which arrivals
come one at a time, as they are wanted, and not when the trace says. The time of the trace begins after it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from time import time_ns
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from mead.arrays import IntArray
from mead.spark.log.tasks import divide_rows, read_number

FORMAT = "mead-trace"

WARM_UP_PAUSE_US = 20_000

SPARE_S = 10.0
"""How much of a trace may be used to warm up. Whoever generates arrivals for a run makes them that much longer."""

STAMPED = "id bigint, arrival_us bigint"
"""Every row has a number and the time of its arrival, in microseconds since 1970."""


class TraceDataSource(DataSource):
    """Arrivals by the wall clock.

    Options: ``path``, time stamps in microseconds (.npy); ``speed``, how many seconds of the trace pass in one (default
    1); ``tasks``, a file with the number of tasks; ``warm_up``, a file that is there as long as the stream is to warm
    up (default none); ``payload``, ``module:function`` that makes a record batch from numbers of tuples,
    ``payload_schema`` (DDL), its columns, and ``payload_options`` (JSON), arguments by which it makes that function.
    """

    @classmethod
    def name(cls) -> str:
        """The name for ``format(...)``."""
        return FORMAT

    def schema(self) -> str:
        """Number, time of arrival, and the columns of the payload."""
        payload = self.options.get("payload_schema")
        return f"{STAMPED}, {payload}" if payload else STAMPED

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - PySpark's name
        """Rows of the trace."""
        del schema
        return TraceReader(
            Path(self.options["path"]),
            float(self.options.get("speed", "1")),
            Path(self.options["tasks"]),
            self.options.get("payload"),
            warm_up=Path(self.options["warm_up"]) if "warm_up" in self.options else None,
            payload_options=self.options.get("payload_options"),
        )


class TracePartition(InputPartition):
    """What one task makes: the arrivals from one number to another."""

    def __init__(self, started_us: int, first: int, end: int) -> None:
        super().__init__(None)
        self.started_us, self.first, self.end = started_us, first, end


@dataclass
class TraceReader(DataSourceStreamReader):
    """Kept small, because it is sent to every task; the trace is opened by path where it is needed."""

    path: Path
    speed: float
    tasks: Path
    payload: str | None
    now_us: Callable[[], int] = lambda: time_ns() // 1000
    warm_up: Path | None = None
    payload_options: str | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """The stream begins when Spark first asks for its offset, or after the warm-up, if there is one."""
        return {"started_us": self.now_us(), "count": 0, "warm": int(self.warm_up is None)}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """All arrivals whose time has come. None is taken back if the clock is set back."""
        del limit
        if not start["warm"]:
            if self.warm_up and self.warm_up.exists():
                return self._one_more(start)
            start = {**start, "started_us": self._start_us(start["count"]), "warm": 1}
        passed_us = (self.now_us() - start["started_us"]) * self.speed
        due = int(np.searchsorted(read_times_us(self.path), passed_us, side="right"))
        return {**start, "count": max(due, start["count"])}

    def _one_more(self, start: dict[str, int]) -> dict[str, int]:
        """The next arrival, as if it came now, unless the last one came too recently."""
        count, times = start["count"], read_times_us(self.path)
        last_us = start["started_us"] + (times[count - 1] / self.speed if count else -WARM_UP_PAUSE_US)
        if is_used_up(self.path, self.speed, count) or self.now_us() < last_us + WARM_UP_PAUSE_US:
            return start
        return {"started_us": self._start_us(count), "count": count + 1, "warm": 0}

    def _start_us(self, count: int) -> int:
        """When a stream must have begun for this arrival to be due now."""
        times = read_times_us(self.path)
        return self.now_us() - int(times[min(count, times.size - 1)] / self.speed)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """One partition for each task, with an equal number of arrivals."""
        parts = divide_rows(start["count"], end["count"], read_number(self.tasks)) or [(end["count"], end["count"])]
        return [TracePartition(end["started_us"], first, last) for first, last in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The arrivals of a partition; runs in a task."""
        if not isinstance(partition, TracePartition):
            raise TypeError(f"this source has made no {type(partition).__name__}")
        numbers = np.arange(partition.first, partition.end, dtype=np.int64)
        stamps_us = partition.started_us + (read_times_us(self.path)[partition.first : partition.end] / self.speed)
        columns = {"id": pa.array(numbers), "arrival_us": pa.array(stamps_us.astype(np.int64))}
        if self.payload:
            made = load_payload(self.payload, self.payload_options)(numbers)
            columns |= dict(zip(made.schema.names, made.columns, strict=True))
        yield pa.record_batch(columns)


def is_used_up(path: Path, speed: float, count: int) -> bool:
    """Whether the warm-up has used all arrivals that it may: the run itself needs the rest."""
    times = read_times_us(path)
    return count == times.size or bool(times[count] >= SPARE_S * speed * 1e6)


@lru_cache(maxsize=4)
def read_times_us(path: Path) -> IntArray:
    """Time stamps since the first one, mapped from the file and read when they are needed."""
    stamps_us: IntArray = np.load(path, mmap_mode="r", allow_pickle=False)
    return stamps_us


@lru_cache(maxsize=16)
def load_payload(function: str, options: str | None = None) -> Callable[[IntArray], pa.RecordBatch]:
    """The object ``module:function``, or what it returns for these arguments (JSON)."""
    module, _, name = function.partition(":")
    found: Any = getattr(import_module(module), name)
    made: Callable[[IntArray], pa.RecordBatch] = found if options is None else found(**json.loads(options))
    return made
