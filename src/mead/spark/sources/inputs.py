"""Where an operator's rows come from: how the stream is opened, and how many rows have come and are done.

Every input stamps its rows: ``arrival_us`` says when they arrived at the source of the pipeline. Traces are here, what
other operators write in `log_inputs`, and what comes from elsewhere in `broker_inputs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from pyspark.sql.datasource import DataSource, DataSourceStreamReader

from mead.spark.pipeline.operators import OperatorError, parse_struct
from mead.spark.sources.trace import TraceDataSource, is_used_up, read_times_us
from mead.spark.telemetry.probe import STAMP
from mead.spark.telemetry.reports import FinishedBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Input(Protocol):
    """One stream, read by one operator."""

    @property
    def warm_up(self) -> Path | None:
        """A file that is there as long as the stream is to warm up; None for a stream that takes its own course."""
        return None

    def is_warmed_up(self, last: FinishedBatch) -> bool:
        """Whether it has let in all that it has to warm up with."""
        del last
        return False

    def load(self, spark: SparkSession, operator: str, tasks: Path) -> DataFrame:
        """Open it. The file ``tasks`` says how many tasks are to read it, unless that is Spark's to decide."""

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        """What reads it inside a worker, and the columns that it reads; None if only Spark can."""

    def count_completed(self, done: FinishedBatch) -> int:
        """Rows that are done after this micro-batch, since the beginning of the stream."""

    def count_arrived(self, last: FinishedBatch | None) -> int | None:
        """Rows that have come since the beginning of the stream; None if that cannot be known."""

    def insist(self) -> None:
        """Have the next call of ``arrived`` ask in any case. Most inputs always do."""
        return

    def close(self) -> None:
        """Let go of what the input holds: nobody asks any more. Most inputs hold nothing."""
        return


@dataclass(frozen=True)
class TraceInput(Input):
    """A trace that is played by the wall clock."""

    path: Path
    """Time stamps in microseconds since the first (.npy)."""
    speed: float = 1.0
    warm_up: Path | None = None
    """A file that is there as long as the stream is to warm up."""
    payload: str | None = None
    payload_schema: str | None = None
    payload_options: str | None = None
    """Arguments by which ``payload`` makes the function (JSON); None if it is the function itself."""
    now_us: Callable[[], int] = field(default=lambda: time_ns() // 1000, repr=False)

    def load(self, spark: SparkSession, operator: str, tasks: Path) -> DataFrame:
        """Open it."""
        return open_stream(spark, operator, TraceDataSource, self._options(tasks))

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        """Reads it inside a worker."""
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
        """Whether all arrivals are used up that the trace can spare: the run needs the rest."""
        return is_used_up(self.path, self.speed, self.count_completed(last))

    def count_completed(self, done: FinishedBatch) -> int:
        """Rows that are done: the offset."""
        return int(done.end_offset["count"])

    def count_arrived(self, last: FinishedBatch | None) -> int | None:
        """All arrivals whose time has come since the query began."""
        if last is None:
            return 0
        passed_us = (self.now_us() - last.end_offset["started_us"]) * self.speed
        due = int(np.searchsorted(read_times_us(self.path), passed_us, side="right"))
        return max(due, self.count_completed(last))


def check_stamps(types: Mapping[str, str], operator: str) -> None:
    """Refuse rows without stamps: their response times could not be known. ``types`` are by column."""
    if types.get(STAMP) != "bigint":
        had = f"is {types[STAMP]}" if STAMP in types else f"is not among {', '.join(types)}"
        raise OperatorError(
            f"operator {operator}: its rows need a column {STAMP} (bigint, microseconds since 1970), which {had}"
        )


def check_one_source(stream: DataFrame, operator: str) -> None:
    """Refuse a union or a join of streams that Spark reads itself.

    A checkpoint has an offset for each stream, and these may count anything: nobody could tell how much has come and is
    done.
    """
    plan: Any = stream._jdf.queryExecution().analyzed()  # noqa: SLF001 - Python does not tell what a stream is made of
    leaves = plan.collectLeaves().distinct()
    sources = sum(bool(leaves.apply(place).isStreaming()) for place in range(leaves.size()))
    if sources > 1:
        raise OperatorError(
            f"operator {operator}: it reads {sources} sources of Spark in one stream, and may read one: "
            "bring them together before, in one topic or folder"
        )


def open_stream(spark: SparkSession, operator: str, source: type[DataSource], options: Mapping[str, str]) -> DataFrame:
    """Open a Python data source as a stream, in the operator's own workers."""
    return spark.readStream.format(register_source(spark, operator, source)).options(**dict(options)).load()


def make_reader(source: type[DataSource], options: Mapping[str, str]) -> tuple[DataSourceStreamReader, str]:
    """What reads a Python data source inside a worker, and the columns that it reads."""
    made = source(dict(options))
    columns = str(made.schema())
    return made.streamReader(parse_struct(columns)), columns


def register_source(spark: SparkSession, operator: str, source: type[DataSource]) -> str:
    """The format under which a source works in the operator's own workers: those of the block that registers it."""
    name = f"{source.name()}-{operator}"
    spark.dataSource.register(type(source.__name__, (source,), {"name": classmethod(lambda _: name)}))
    return name
