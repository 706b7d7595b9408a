"""The embedded log as a source: one log, or several as one stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from mead.spark.log.addresses import select_rows
from mead.spark.log.stream_log import Extent, StreamLog
from mead.spark.log.tasks import divide_rows, read_tasks
from mead.spark.sources.rabbitmq.blocks import RabbitStore
from mead.spark.sources.rabbitmq.location import StreamLocation

FORMAT, JOINED_FORMAT = "mead-log", "mead-logs"


class LogDataSource(DataSource):
    """A log by its folder.

    Options: ``path``, the folder; ``schema`` (DDL); ``consumer``, the name under which rows are kept and addressed;
    ``tasks``, a file with the number of tasks; ``rabbitmq``, options (JSON) of the RabbitMQ stream that holds the rows,
    if they are not in the folder.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format(...)``."""
        return FORMAT

    def schema(self) -> str:
        """Return the columns from the options: a log may still be empty when a query starts."""
        return self.options["schema"]

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - PySpark's name
        """Return a reader of the log."""
        del schema
        log = open_log(self.options["path"], json.loads(self.options.get("rabbitmq", "null")))
        return LogReader(log, self.options["consumer"], Path(self.options["tasks"]))


def open_log(folder: str, rabbitmq: Mapping[str, str] | None) -> StreamLog:
    """Open a log for reading. Its rows are in its folder or in a RabbitMQ stream."""
    return StreamLog(Path(folder), store=None if rabbitmq is None else RabbitStore(StreamLocation.of(rabbitmq)))


@dataclass
class LogPartition(InputPartition):
    """The rows that one task reads."""

    extents: list[Extent]

    def __init__(self, extents: list[Extent]) -> None:
        super().__init__(None)
        self.extents = extents


class LogReader(DataSourceStreamReader):
    """Reader of one log. Offsets are numbers of rows; every micro-batch reads the number of tasks again.

    Without a file ``tasks`` there is one task.
    """

    def __init__(self, log: StreamLog, consumer: str, tasks: Path | None) -> None:
        self.log, self.consumer, self.tasks = log, consumer, tasks

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Return the first row that is kept, and keep rows from now on."""
        self.log.register(self.consumer)
        return {"rows": self.log.start}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """Return the end of the log: a micro-batch takes all new rows."""
        del start, limit
        return {"rows": self.log.end}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Return one partition for each task."""
        tasks = read_tasks(self.tasks) if self.tasks else 1
        return [LogPartition(extents) for extents in self.log.divide(start["rows"], end["rows"], tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition; runs in a task."""
        if isinstance(partition, LogPartition):
            yield from self.rows(partition.extents)

    def rows(self, extents: list[Extent]) -> Iterator[pa.RecordBatch]:
        """Yield the rows for this consumer."""
        for batch in self.log.read(extents):
            yield select_rows(batch, self.consumer)

    def commit(self, end: dict[str, int]) -> None:
        """Release the rows below ``end``."""
        self.log.release(self.consumer, end["rows"])


class JoinedDataSource(DataSource):
    """Several logs as one stream, for an operator with several predecessors or a loop.

    One source reads all logs, because an operator that works in place has one reader, and so that the tasks of a
    micro-batch share all rows evenly. Options: ``logs``, folder and RabbitMQ options of each by name (JSON); ``schema``
    (DDL), the columns of all logs together, null where a log lacks them; ``consumer`` and ``tasks``.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format(...)``."""
        return JOINED_FORMAT

    def schema(self) -> str:
        """Return the columns from the options."""
        return self.options["schema"]

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - PySpark's name
        """Return a reader of all logs."""
        tasks = Path(self.options["tasks"])
        readers = {
            name: LogReader(open_log(*place), self.options["consumer"], tasks)
            for name, place in json.loads(self.options["logs"]).items()
        }
        return JoinedReader(readers, to_arrow_schema(schema), tasks)


class JoinedPartition(InputPartition):
    """The rows of several logs that one task reads."""

    def __init__(self, extents: Mapping[str, list[Extent]]) -> None:
        super().__init__(None)
        self.extents = extents


@dataclass
class JoinedReader(DataSourceStreamReader):
    """Reader of several logs. An offset holds that of every log, by name."""

    readers: Mapping[str, LogReader]
    columns: pa.Schema
    tasks: Path

    def initialOffset(self) -> dict[str, dict[str, int]]:  # noqa: N802
        """Return the initial offsets of all logs."""
        return {name: reader.initialOffset() for name, reader in self.readers.items()}

    def latestOffset(self, start: dict[str, dict[str, int]], limit: Any) -> dict[str, dict[str, int]]:  # noqa: N802
        """Return the latest offsets of all logs, including the operator's own output."""
        return {name: reader.latestOffset(start[name], limit) for name, reader in self.readers.items()}

    def partitions(self, start: dict[str, dict[str, int]], end: dict[str, dict[str, int]]) -> Sequence[InputPartition]:
        """Return one partition for each task, with its part of all rows."""
        ranges, total = [], 0
        for name in self.readers:
            first, last = start[name]["rows"], end[name]["rows"]
            ranges.append((name, first, total, total := total + last - first))
        parts = []
        for from_row, to_row in divide_rows(0, total, read_tasks(self.tasks)):
            extents = {}
            for name, first, begins, ends in ranges:
                a, b = max(from_row, begins), min(to_row, ends)
                if a < b:
                    (extents[name],) = self.readers[name].log.divide(first + a - begins, first + b - begins, 1)
            parts.append(JoinedPartition(extents))
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition; runs in a task."""
        if isinstance(partition, JoinedPartition):
            for name, extents in partition.extents.items():
                for batch in self.readers[name].rows(extents):
                    yield _with_columns(batch, self.columns)

    def commit(self, end: dict[str, dict[str, int]]) -> None:
        """Release the rows in every log."""
        for name, reader in self.readers.items():
            reader.commit(end[name])


def _with_columns(batch: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    """Add the missing columns, with nulls."""
    there = set(batch.schema.names)
    arrays = [batch.column(c.name) if c.name in there else pa.nulls(batch.num_rows, c.type) for c in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)
