"""A trace as a stream: every tuple becomes available at its time.

Offsets are numbers of arrivals, with the time at which the stream began. So a query restarted from its checkpoint
continues in the same course of time, and reads the same rows for the same offsets.

A new query is slow: Java compiles, and workers start. So there can be a warm-up, in which arrivals come one at a time
on demand. The time of the trace begins after it.
"""

from __future__ import annotations

import json
import os
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
from mead.spark.log.tasks import divide_rows, read_tasks

FORMAT = "mead-trace"

WARM_UP_PAUSE_US = 20_000

SPARE_S = 10.0
"""Part of a trace that may be used to warm up. Generated arrivals of a run are that much longer."""

STAMPED = "id bigint, arrival_us bigint"
"""Every row has a number and the time of its arrival, in microseconds since 1970."""


class TraceDataSource(DataSource):
    """Arrivals by the wall clock.

    Options: ``path``, time stamps in microseconds (.npy); ``speed``, seconds of the trace per second (default 1);
    ``tasks``, a file with the number of tasks; ``warm_up``, a file that exists as long as the stream warms up (default
    none); ``payload``, ``module:function`` that makes a record batch from numbers of tuples, ``payload_schema`` (DDL),
    its columns, and ``payload_options`` (JSON), arguments with which it makes that function.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format(...)``."""
        return FORMAT

    def schema(self) -> str:
        """Return number, time of arrival, and the columns of the payload."""
        payload = self.options.get("payload_schema")
        return f"{STAMPED}, {payload}" if payload else STAMPED

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - PySpark's name
        """Return a reader of the trace."""
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
    """The arrivals that one task makes."""

    def __init__(self, started_us: int, first: int, end: int) -> None:
        super().__init__(None)
        self.started_us, self.first, self.end = started_us, first, end


@dataclass
class TraceReader(DataSourceStreamReader):
    """Reader of a trace. It is sent to every task, so it holds the path and not the trace."""

    path: Path
    speed: float
    tasks: Path
    payload: str | None
    now_us: Callable[[], int] = lambda: time_ns() // 1000
    warm_up: Path | None = None
    payload_options: str | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Return an offset that begins now, or after the warm-up if there is one."""
        return {"started_us": self.now_us(), "count": 0, "warm": int(self.warm_up is None)}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """Return all arrivals that are due. None is taken back if the clock is set back."""
        del limit
        if not start["warm"]:
            if self.warm_up and (held := is_held(self.warm_up)) is not None:
                return start if held else self._one_more(start)
            start = {**start, "started_us": self._start_us(start["count"]), "warm": 1}
        passed_us = (self.now_us() - start["started_us"]) * self.speed
        due = int(np.searchsorted(read_times_us(self.path), passed_us, side="right"))
        return {**start, "count": max(due, start["count"])}

    def _one_more(self, start: dict[str, int]) -> dict[str, int]:
        """Return the next arrival, as if it came now, unless the last one was too recent."""
        count, times = start["count"], read_times_us(self.path)
        last_us = start["started_us"] + (times[count - 1] / self.speed if count else -WARM_UP_PAUSE_US)
        if is_used_up(self.path, self.speed, count) or self.now_us() < last_us + WARM_UP_PAUSE_US:
            return start
        return {"started_us": self._start_us(count), "count": count + 1, "warm": 0}

    def _start_us(self, count: int) -> int:
        """Return the start of a stream in which this arrival is due now."""
        times = read_times_us(self.path)
        return self.now_us() - int(times[min(count, times.size - 1)] / self.speed)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Return one partition for each task, with its part of the arrivals."""
        parts = divide_rows(start["count"], end["count"], read_tasks(self.tasks)) or [(end["count"], end["count"])]
        return [TracePartition(end["started_us"], first, last) for first, last in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the arrivals of a partition; runs in a task."""
        if not isinstance(partition, TracePartition):
            raise TypeError(f"not a partition of this source: {type(partition).__name__}")
        numbers = np.arange(partition.first, partition.end, dtype=np.int64)
        stamps_us = partition.started_us + (read_times_us(self.path)[partition.first : partition.end] / self.speed)
        columns = {"id": pa.array(numbers), "arrival_us": pa.array(stamps_us.astype(np.int64))}
        if self.payload:
            made = load_payload(self.payload, self.payload_options)(numbers)
            columns |= dict(zip(made.schema.names, made.columns, strict=True))
        yield pa.record_batch(columns)


def hold_warm_up(file: Path) -> None:
    """Let no more rows into a warm-up, which goes on."""
    file.write_text("held")


def is_held(file: Path) -> bool | None:
    """Return whether a warm-up lets no more rows in; None if it is over."""
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        return None


def is_used_up(path: Path, speed: float, count: int) -> bool:
    """Return whether the warm-up has used all arrivals that it may: the run needs the rest."""
    times = read_times_us(path)
    return count == times.size or bool(times[count] >= SPARE_S * speed * 1e6)


def write_times_us(path: Path, times_us: IntArray) -> None:
    """Write time stamps as a whole or not at all: readers never see a part of the file."""
    new = path.with_name(f".{path.name}.part")
    try:
        with new.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(times_us))
            file.write(times_us.data)  # np.save would not say that the disk is full
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        read_times_us.cache_clear()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        new.unlink(missing_ok=True)


def find_times_fault(path: Path) -> str:
    """Return what is wrong with a file of time stamps; empty if nothing is."""
    try:
        times_us: IntArray = np.load(path, mmap_mode="r", allow_pickle=False)
    except (EOFError, ValueError) as error:  # cut off, or another kind of file
        return f"the time stamps are damaged ({error})"
    if times_us.ndim != 1 or times_us.size == 0 or not np.issubdtype(times_us.dtype, np.integer):
        return f"holds no list of time stamps, but {times_us.dtype} of shape {times_us.shape}"
    if times_us[0] < 0 or (times_us[1:] < times_us[:-1]).any():
        return "the time stamps are damaged (they are not in order)"
    return ""


@lru_cache(maxsize=4)
def read_times_us(path: Path) -> IntArray:
    """Return time stamps since the first one, memory-mapped from the file."""
    stamps_us: IntArray = np.load(path, mmap_mode="r", allow_pickle=False)
    return stamps_us


@lru_cache(maxsize=16)
def load_payload(function: str, options: str | None = None) -> Callable[[IntArray], pa.RecordBatch]:
    """Import ``module:function``, or call it with these arguments (JSON) to make the function."""
    module, _, name = function.partition(":")
    found: Any = getattr(import_module(module), name)
    made: Callable[[IntArray], pa.RecordBatch] = found if options is None else found(**json.loads(options))
    return made
