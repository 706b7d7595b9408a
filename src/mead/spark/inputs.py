"""Where an operator's rows come from: how the stream is opened, and how many rows have come and are done.

Every input stamps its rows: ``arrival_us`` says when they arrived at the source of the pipeline.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from pyspark.sql.datasource import DataSource, DataSourceStreamReader

from mead.spark.addresses import TO
from mead.spark.log import StreamLog
from mead.spark.log_source import JoinedDataSource, LogDataSource
from mead.spark.operators import OperatorError, columns_of, ddl, struct
from mead.spark.probe import STAMP
from mead.spark.progress import Done
from mead.spark.trace_source import TraceDataSource, times_us

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mead.spark.rabbitmq_source import Tail

ASKED_S, ASKED_AGAIN_S = 0.5, 5.0
"""So long the controller waits for an answer of a broker, and so long it then does not ask again."""


class Input(Protocol):
    """One stream, read by one operator."""

    @property
    def warm_up(self) -> Path | None:
        """A file that is there as long as the stream is to warm up; None for a stream that takes its own course."""
        return None

    def load(self, spark: SparkSession, operator: str, tasks: Path) -> DataFrame:
        """Open it. The file ``tasks`` says how many tasks are to read it, unless that is Spark's to decide."""

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        """What reads it inside a worker, and the columns that it reads; None if only Spark can."""

    def completed(self, done: Done) -> int:
        """Rows that are done after this micro-batch, since the beginning of the stream."""

    def arrived(self, last: Done | None) -> int | None:
        """Rows that have come since the beginning of the stream; None if that cannot be known."""

    def close(self) -> None:
        """Nobody asks any more. Most inputs hold nothing that would have to be let go."""
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
            "payload_options": self.payload_options,
        }
        return {option: str(value) for option, value in given.items() if value is not None}

    def completed(self, done: Done) -> int:
        """By offset."""
        return int(done.end_offset["count"])

    def arrived(self, last: Done | None) -> int | None:
        """All whose time has come, since the query has begun."""
        if last is None:
            return 0
        passed_us = (self.now_us() - last.end_offset["started_us"]) * self.speed
        due = int(np.searchsorted(times_us(self.path), passed_us, side="right"))
        return max(due, self.completed(last))


@dataclass(frozen=True)
class LogInput(Input):
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
        self.register()
        columns = ddl(self.columns)
        return {"path": str(self.folder), "schema": columns, "consumer": self.consumer, "tasks": str(tasks)}

    def register(self) -> None:
        """Keep rows for this consumer from now on.

        What has been read of the index is left alone: a query is started again while the controller counts elsewhere.
        """
        StreamLog(self.folder).register(self.consumer)

    @property
    def columns(self) -> dict[str, str]:
        """And their types, without the column by which rows are addressed."""
        return {name: kind for name, kind in columns_of(self.schema).items() if name != TO}

    def completed(self, done: Done) -> int:
        """By offset, without rows that are for others."""
        return self._log.own(self.consumer, int(done.end_offset["rows"]))

    def arrived(self, last: Done | None) -> int:
        """All that has been committed, without rows that are for others."""
        del last
        return self._log.own(self.consumer, self._log.end)


@dataclass(frozen=True)
class JoinedInput(Input):
    """The embedded logs of several operators, that of the reader itself perhaps among them."""

    logs: Mapping[str, LogInput]
    """By the name of the operator that writes it."""

    def load(self, spark: SparkSession, operator: str, tasks: Path) -> DataFrame:
        """Open it. Rows are kept as of one log."""
        return _opened(spark, operator, JoinedDataSource, self._options(operator, tasks))

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        """Reads them inside a worker. Rows are kept as above."""
        return _reader(JoinedDataSource, self._options(next(iter(self.logs.values())).consumer, tasks))

    def _options(self, consumer: str, tasks: Path) -> dict[str, str]:
        columns: dict[str, str] = {}
        for name, log in self.logs.items():
            log.register()
            for column, kind in log.columns.items():
                if columns.setdefault(column, kind) != kind:
                    raise OperatorError(
                        f"operator {consumer}: it reads from {' and '.join(self.logs)}, and column {column} is {kind} "
                        f"in what {name} writes, and {columns[column]} in the others"
                    )
        folders = json.dumps({name: str(log.folder) for name, log in self.logs.items()})
        return {"logs": folders, "schema": ddl(columns), "consumer": consumer, "tasks": str(tasks)}

    def completed(self, done: Done) -> int:
        """Of all logs."""
        return sum(log.completed(replace(done, end_offset=done.end_offset[name])) for name, log in self.logs.items())

    def arrived(self, last: Done | None) -> int | None:
        """In all logs."""
        return sum(log.arrived(last) for log in self.logs.values())


@dataclass
class RabbitMQInput(Input):
    """A RabbitMQ stream."""

    options: Mapping[str, str]
    """As of the data source."""
    now_s: Callable[[], float] = field(default=monotonic, repr=False)
    _tail: Tail | None = field(default=None, repr=False)
    """What asks for the end of the stream, on a connection of its own, once somebody wants to know."""
    _silent_until_s: float = field(default=-inf, repr=False)

    def load(self, spark: SparkSession, operator: str, tasks: Path) -> DataFrame:
        """Open it."""
        from mead.spark.rabbitmq_source import RabbitDataSource  # noqa: PLC0415 - pika is an extra

        return _opened(spark, operator, RabbitDataSource, {**self.options, "tasks": str(tasks)})

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        """Reads it inside a worker."""
        from mead.spark.rabbitmq_source import RabbitDataSource  # noqa: PLC0415 - as above

        return _reader(RabbitDataSource, {**self.options, "tasks": str(tasks)})

    def completed(self, done: Done) -> int:
        """By offset, which is the broker's."""
        return offset_sum(done.end_offset)

    def arrived(self, last: Done | None) -> int | None:
        """What the broker says; None while it does not answer.

        The controller asks, and has other things to do: a broker that has not answered is left alone for a while.
        """
        if last is None or self.now_s() < self._silent_until_s:
            return None
        from mead.spark.rabbitmq_connection import RabbitError  # noqa: PLC0415 - as above
        from mead.spark.rabbitmq_place import Place  # noqa: PLC0415
        from mead.spark.rabbitmq_source import Tail  # noqa: PLC0415

        try:
            if self._tail is None:
                self._tail = Tail(replace(Place.of(self.options), answer_s=ASKED_S, reconnect_s=0.0))
            return self._tail.end(self.completed(last))
        except RabbitError:
            self.close()
            self._silent_until_s = self.now_s() + ASKED_AGAIN_S
            return None

    def close(self) -> None:
        """End the connection."""
        if self._tail is not None:
            self._tail.close()
        self._tail = None


@dataclass
class ForeignInput(Input):
    """Any streaming DataFrame: files, sockets, rates, Kafka. How much waits is known where the source tells (Kafka).

    It is read by as many tasks as Spark makes of it: such a stream cannot be told the number.
    """

    open: Callable[[SparkSession, Path], DataFrame]
    """Makes the stream; its rows have ``arrival_us``."""
    _completed: int = 0
    _last: int = -1
    """The last micro-batch that was added."""

    def load(self, spark: SparkSession, operator: str, tasks: Path) -> DataFrame:
        """Open it."""
        del operator
        return self.open(spark, tasks)

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        """Only Spark can."""
        del tasks
        return None

    def completed(self, done: Done) -> int:
        """Added up, each micro-batch once, for its offsets need not be numbers of rows.

        What was done before anybody looked is not among them.
        """
        if done.batch > self._last:
            self._completed, self._last = self._completed + done.rows, done.batch
        return self._completed

    def arrived(self, last: Done | None) -> int | None:
        """What is done and what the source says is still there: Kafka does, by topic and partition."""
        if last is None or not last.latest_offset or not all(isinstance(o, dict) for o in last.latest_offset.values()):
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
