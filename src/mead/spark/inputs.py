"""Where an operator's rows come from: how the stream is opened, and how many rows have come and are done.

Every input stamps its rows: ``arrival_us`` says when they arrived at the source of the pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from pyspark.sql.datasource import DataSource, DataSourceStreamReader

from mead.spark.log import StreamLog
from mead.spark.log_source import LogDataSource
from mead.spark.operators import OperatorError, struct
from mead.spark.probe import STAMP
from mead.spark.progress import Progress
from mead.spark.trace_source import TraceDataSource, times_us

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Input(Protocol):
    """One stream, read by one operator."""

    def load(self, spark: SparkSession, operator: str, tasks: Path) -> DataFrame:
        """Open it. The file ``tasks`` says how many tasks are to read it; 0 lets nothing more in."""

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        """What reads it inside a worker, and the columns that it reads; None if only Spark can."""

    def completed(self, progress: Progress) -> int:
        """Rows that are done after this micro-batch, since the beginning of the stream."""

    def arrived(self, last: Progress | None) -> int | None:
        """Rows that have come since the beginning of the stream; None if that cannot be known."""


@dataclass(frozen=True)
class TraceInput:
    """A trace that is played by the wall clock."""

    path: Path
    """Time stamps in microseconds since the first (.npy)."""
    speed: float = 1.0
    warm_up: Path | None = None
    """A file that is there as long as the stream is to warm up."""
    payload: str | None = None
    payload_schema: str | None = None
    now_us: Callable[[], int] = field(default=lambda: time_ns() // 1000, repr=False)

    def load(self, spark: SparkSession, operator: str, tasks: Path) -> DataFrame:
        """Open it."""
        return _opened(spark, operator, TraceDataSource, self._options(tasks))

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        """Reads it inside a worker."""
        return _reader(TraceDataSource, self._options(tasks))

    def _options(self, tasks: Path) -> dict[str, str]:
        given = {
            "path": self.path,
            "speed": self.speed,
            "tasks": tasks,
            "warm_up": self.warm_up,
            "payload": self.payload,
            "payload_schema": self.payload_schema,
        }
        return {option: str(value) for option, value in given.items() if value is not None}

    def completed(self, progress: Progress) -> int:
        """By offset."""
        return int(progress.end_offset["count"])

    def arrived(self, last: Progress | None) -> int | None:
        """All whose time has come, since the query has begun."""
        if last is None:
            return 0
        passed_us = (self.now_us() - last.end_offset["started_us"]) * self.speed
        due = int(np.searchsorted(times_us(self.path), passed_us, side="right"))
        return max(due, self.completed(last))


@dataclass(frozen=True)
class LogInput:
    """The embedded log that another operator writes."""

    folder: Path
    consumer: str
    schema: str
    _log: StreamLog = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_log", StreamLog(self.folder))

    def load(self, spark: SparkSession, operator: str, tasks: Path) -> DataFrame:
        """Open it. Rows are kept for this consumer from now on, even before its query starts."""
        return _opened(spark, operator, LogDataSource, self._options(tasks))

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        """Reads it inside a worker. Rows are kept as above."""
        return _reader(LogDataSource, self._options(tasks))

    def _options(self, tasks: Path) -> dict[str, str]:
        self._log.register(self.consumer)
        return {"path": str(self.folder), "schema": self.schema, "consumer": self.consumer, "tasks": str(tasks)}

    def completed(self, progress: Progress) -> int:
        """By offset."""
        return int(progress.end_offset["rows"])

    def arrived(self, last: Progress | None) -> int | None:
        """All that has been committed."""
        del last
        return self._log.end


@dataclass(frozen=True)
class RabbitMQInput:
    """A RabbitMQ stream."""

    options: Mapping[str, str]
    """As of the data source."""
    _bell: list[Any] = field(default_factory=list, repr=False, compare=False)
    """The reader that is asked for the end of the stream, once there is one."""

    def load(self, spark: SparkSession, operator: str, tasks: Path) -> DataFrame:
        """Open it."""
        from mead.spark.rabbitmq_source import RabbitDataSource  # noqa: PLC0415 - pika is an extra

        return _opened(spark, operator, RabbitDataSource, {**self.options, "tasks": str(tasks)})

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        """Reads it inside a worker."""
        from mead.spark.rabbitmq_source import RabbitDataSource  # noqa: PLC0415 - as above

        return _reader(RabbitDataSource, {**self.options, "tasks": str(tasks)})

    def completed(self, progress: Progress) -> int:
        """By offset, which is the broker's."""
        return offset_sum(progress.end_offset)

    def arrived(self, last: Progress | None) -> int | None:
        """What the broker says, asked on a connection of its own; None while it does not answer."""
        if last is None:
            return None
        from mead.spark.rabbitmq_connection import RabbitError  # noqa: PLC0415 - as above
        from mead.spark.rabbitmq_place import Place  # noqa: PLC0415
        from mead.spark.rabbitmq_source import Tail  # noqa: PLC0415

        if not self._bell:
            self._bell.append(Tail(Place.of(dict(self.options))))
        try:
            return int(self._bell[0].end(self.completed(last)))
        except RabbitError:
            return None


@dataclass
class ForeignInput:
    """Any streaming DataFrame: files, sockets, rates, Kafka. How much waits is known where the source tells (Kafka)."""

    open: Callable[[SparkSession, Path], DataFrame]
    """Makes the stream; its rows have ``arrival_us``."""
    _completed: int = 0

    def load(self, spark: SparkSession, operator: str, tasks: Path) -> DataFrame:
        """Open it."""
        del operator
        return self.open(spark, tasks)

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        """Only Spark can."""
        del tasks
        return None

    def completed(self, progress: Progress) -> int:
        """Added up, for its offsets need not be numbers of rows."""
        self._completed += progress.rows
        return self._completed

    def arrived(self, last: Progress | None) -> int | None:
        """What is done and what the source says is still there."""
        if last is None or last.latest_offset is None:
            return None
        waiting = offset_sum(last.latest_offset) - offset_sum(last.end_offset)
        return self._completed + max(waiting, 0)


def offset_sum(offset: Mapping[str, Any]) -> int:
    """Of Kafka's offsets, which are numbers by partition by topic.

    >>> offset_sum({"topic": {"0": 5, "1": 7}})
    12
    """
    return sum(offset_sum(value) if isinstance(value, dict) else int(value) for value in offset.values())


def check_stamped(types: Mapping[str, str], operator: str) -> None:
    """Refuse rows without stamps: their response times could not be known. ``types`` are by column."""
    if types.get(STAMP) != "bigint":
        had = f"is {types[STAMP]}" if STAMP in types else f"is not among {', '.join(types)}"
        raise OperatorError(
            f"operator {operator}: its rows need a column {STAMP} (bigint, microseconds since 1970), which {had}"
        )


def _opened(spark: SparkSession, operator: str, source: type[DataSource], options: Mapping[str, str]) -> DataFrame:
    return spark.readStream.format(registered(spark, operator, source)).options(**dict(options)).load()


def _reader(source: type[DataSource], options: Mapping[str, str]) -> tuple[DataSourceStreamReader, str]:
    opened = source(dict(options))
    columns = str(opened.schema())
    return opened.streamReader(struct(columns)), columns


def registered(spark: SparkSession, operator: str, source: type[DataSource]) -> str:
    """The format under which a source works in the operator's own workers: those of the block that registers it."""
    name = f"{source.name()}-{operator}"
    spark.dataSource.register(type(source.__name__, (source,), {"name": classmethod(lambda _: name)}))
    return name
