"""Inputs of operators: open a stream, count its rows.

Every input stamps its rows: ``arrival_us`` says when they arrived at the source of the pipeline. Traces are here,
output of other operators in `log_inputs`, and outside streams in `broker_inputs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from pyspark.sql.datasource import DataSource, DataSourceStreamReader

from mead.arrays import IntArray
from mead.spark.log.store import WAY_OUT
from mead.spark.pipeline.operators import OperatorError, parse_struct
from mead.spark.sources.tap import Tap
from mead.spark.sources.trace import TraceDataSource, find_times_fault, is_used_up, read_times_us, write_times_us
from mead.spark.telemetry.probe import STAMP
from mead.spark.telemetry.reports import FinishedBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Input(Protocol):
    """One stream, read by one operator."""

    @property
    def warm_up(self) -> Path | None:
        """A file that exists as long as the stream warms up, empty until it is held; None without a warm-up."""
        return None

    def check(self) -> None:
        """Raise OperatorError or ConfigError if it cannot be read. Called before anything starts; changes nothing."""
        return

    def prepare(self) -> None:
        """Write what its query needs, once nothing refuses the run any more. Most inputs need nothing."""
        return

    def is_warmed_up(self, last: FinishedBatch) -> bool:
        """Return whether the warm-up has used all rows that it may."""
        del last
        return False

    def load(self, spark: SparkSession, operator: str, tasks: Path) -> DataFrame:
        """Open it, and change nothing. The file ``tasks`` holds the number of tasks, unless Spark decides it."""

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        """Return a reader for use inside a worker, and its columns; None if only Spark can read it."""

    def count_completed(self, done: FinishedBatch) -> int:
        """Return the rows done after this micro-batch, since the beginning of the stream."""

    def count_arrived(self, last: FinishedBatch | None) -> int | None:
        """Return the rows that have come since the beginning of the stream; None if unknown."""

    def tap(self) -> Tap | None:
        """Return a started reader of its arrivals; None if they are to be known from the rows that are read."""
        return None

    def insist(self) -> None:
        """Make the next call of `count_arrived` ask in any case. Most inputs always do."""
        return

    def close(self) -> None:
        """Release resources. Most inputs have none."""
        return


@dataclass(frozen=True)
class TraceInput(Input):
    """A trace that is played by the wall clock."""

    path: Path
    """Time stamps in microseconds since the first (.npy)."""
    speed: float = 1.0
    warm_up: Path | None = None
    """A file that exists as long as the stream warms up."""
    payload: str | None = None
    payload_schema: str | None = None
    payload_options: str | None = None
    """Arguments by which ``payload`` makes the function (JSON); None if it is the function itself."""
    times_us: IntArray | None = field(default=None, repr=False, compare=False)
    """Time stamps of a new run, which `prepare` writes; None if the file has them."""
    now_us: Callable[[], int] = field(default=lambda: time_ns() // 1000, repr=False)

    def check(self) -> None:
        """Raise OperatorError if the file of a continued run is damaged."""
        if self.times_us is not None:
            return
        if fault := find_times_fault(self.path):
            raise OperatorError(f"{self.path}: {fault}; {WAY_OUT}")

    def prepare(self) -> None:
        """Write the time stamps of a new run."""
        if self.times_us is not None and not self.path.exists():
            write_times_us(self.path, self.times_us)

    def load(self, spark: SparkSession, operator: str, tasks: Path) -> DataFrame:
        """Open it."""
        return open_stream(spark, operator, TraceDataSource, self._options(tasks))

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        """Return a reader for use inside a worker."""
        return make_reader(TraceDataSource, self._options(tasks))

    def _options(self, tasks: Path) -> dict[str, str]:
        given = {
            "path": self.path,
            "speed": self.speed,
            "tasks": tasks,
            "warm_up": self.warm_up,
            "payload": self.payload,
            "payload_schema": self.payload_schema,
            "payload_options": self.payload_options,
        }
        return {option: str(value) for option, value in given.items() if value is not None}

    def is_warmed_up(self, last: FinishedBatch) -> bool:
        """Return whether the warm-up has used all arrivals that the trace can spare."""
        return is_used_up(self.path, self.speed, self.count_completed(last))

    def count_completed(self, done: FinishedBatch) -> int:
        """Return the rows done: the offset."""
        return int(done.end_offset["count"])

    def count_arrived(self, last: FinishedBatch | None) -> int | None:
        """Return the arrivals that are due since the query began. Its time begins after the warm-up."""
        if last is None or not last.end_offset["warm"]:
            return self.count_completed(last) if last else 0
        passed_us = (self.now_us() - last.end_offset["started_us"]) * self.speed
        due = int(np.searchsorted(read_times_us(self.path), passed_us, side="right"))
        return max(due, self.count_completed(last))


def check_stamps(types: Mapping[str, str], operator: str) -> None:
    """Raise `OperatorError` for rows without stamps: their response times would be unknown."""
    if types.get(STAMP) != "bigint":
        had = f"is {types[STAMP]}" if STAMP in types else f"is not among {', '.join(types)}"
        raise OperatorError(
            f"operator {operator}: its rows need a column {STAMP} (bigint, microseconds since 1970); it {had}"
        )


def check_one_source(stream: DataFrame, operator: str) -> None:
    """Raise `OperatorError` for a union or join of streams that Spark reads itself.

    A checkpoint has an offset for each stream, which may count anything, so backlog and progress would be unknown.
    """
    plan: Any = stream._jdf.queryExecution().analyzed()  # noqa: SLF001 - Python has no interface for the sources of a stream
    leaves = plan.collectLeaves().distinct()
    sources = sum(bool(leaves.apply(place).isStreaming()) for place in range(leaves.size()))
    if sources > 1:
        raise OperatorError(
            f"operator {operator}: its stream reads {sources} sources of Spark, but only one is allowed: "
            "merge them before, in one topic or folder"
        )


def open_stream(spark: SparkSession, operator: str, source: type[DataSource], options: Mapping[str, str]) -> DataFrame:
    """Open a Python data source as a stream, in the operator's own workers."""
    return spark.readStream.format(register_source(spark, operator, source)).options(**dict(options)).load()


def make_reader(source: type[DataSource], options: Mapping[str, str]) -> tuple[DataSourceStreamReader, str]:
    """Return a reader of a Python data source for use inside a worker, and its columns."""
    made = source(dict(options))
    columns = str(made.schema())
    return made.streamReader(parse_struct(columns)), columns


def register_source(spark: SparkSession, operator: str, source: type[DataSource]) -> str:
    """Register a source for the workers of the present block; return its format."""
    name = f"{source.name()}-{operator}"
    spark.dataSource.register(type(source.__name__, (source,), {"name": classmethod(lambda _: name)}))
    return name
