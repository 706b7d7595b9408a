"""The embedded log as a source of streaming queries, alone or several as one. For the way into it see `log_sink`."""

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
from mead.spark.log.tasks import divide_rows, read_number
from mead.spark.sources.rabbitmq.blocks import RabbitStore
from mead.spark.sources.rabbitmq.location import StreamLocation

FORMAT, JOINED_FORMAT = "mead-log", "mead-logs"


class LogDataSource(DataSource):
    """A log by its folder.

    Options: ``path``, the folder; ``schema`` (DDL); ``consumer``, a name under which rows are kept, and by which they
    may be addressed; ``tasks``, a file with the number of tasks; ``rabbitmq``, the stream that has its rows, as options
    of that source (JSON), where they are not in the folder.
    """

    @classmethod
    def name(cls) -> str:
        """The name for ``format(...)``."""
        return FORMAT

    def schema(self) -> str:
        """The columns, as the options name them: a log may still be empty when a query starts."""
        return self.options["schema"]

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - PySpark's name
        """Reads rows from the log."""
        del schema
        log = open_log(self.options["path"], json.loads(self.options.get("rabbitmq", "null")))
        return LogReader(log, self.options["consumer"], Path(self.options["tasks"]))


def open_log(folder: str, rabbitmq: Mapping[str, str] | None) -> StreamLog:
    """Open a log to be read. Its rows are in its folder, or in a RabbitMQ stream."""
    return StreamLog(Path(folder), store=None if rabbitmq is None else RabbitStore(StreamLocation.of(rabbitmq)))


@dataclass
class LogPartition(InputPartition):
    """What one task reads."""

    extents: list[Extent]

    def __init__(self, extents: list[Extent]) -> None:
        super().__init__(None)
        self.extents = extents


class LogReader(DataSourceStreamReader):
    """Offsets are numbers of rows. The number of tasks is asked for anew for every micro-batch."""

    def __init__(self, log: StreamLog, consumer: str, tasks: Path) -> None:
        self.log, self.consumer, self.tasks = log, consumer, tasks

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """The first row that is still kept."""
        self.log.register(self.consumer)
        return {"rows": self.log.start}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """The end of the log: a micro-batch takes everything that has come since the one before."""
        del start, limit
        return {"rows": self.log.end}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """One partition for each task."""
        tasks = read_number(self.tasks)
        return [LogPartition(extents) for extents in self.log.divide(start["rows"], end["rows"], tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition; runs in a task."""
        if isinstance(partition, LogPartition):
            yield from self.rows(partition.extents)

    def rows(self, extents: list[Extent]) -> Iterator[pa.RecordBatch]:
        """The rows of some extents that are for this consumer."""
        for batch in self.log.read(extents):
            yield select_rows(batch, self.consumer)

    def commit(self, end: dict[str, int]) -> None:
        """Tell the log that rows below ``end`` are done with."""
        self.log.release(self.consumer, end["rows"])


class JoinedDataSource(DataSource):
    """Several logs as one stream, for an operator that has several predecessors, or reads what it has written itself.

    There is one source for all logs, because an operator that works in place has one reader, and because the tasks of a
    micro-batch then share all rows evenly, whichever log they come from. Options: ``logs``, folder and RabbitMQ stream
    of each by name (JSON); ``schema`` (DDL), the columns of all logs together, null in the rows of a log that lacks
    them; ``consumer`` and ``tasks``.
    """

    @classmethod
    def name(cls) -> str:
        """The name for ``format(...)``."""
        return JOINED_FORMAT

    def schema(self) -> str:
        """The columns, as the options name them."""
        return self.options["schema"]

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - PySpark's name
        """Reads rows from all logs."""
        tasks = Path(self.options["tasks"])
        readers = {
            name: LogReader(open_log(*place), self.options["consumer"], tasks)
            for name, place in json.loads(self.options["logs"]).items()
        }
        return JoinedReader(readers, to_arrow_schema(schema), tasks)


class JoinedPartition(InputPartition):
    """What one task reads of several logs."""

    def __init__(self, extents: Mapping[str, list[Extent]]) -> None:
        super().__init__(None)
        self.extents = extents


@dataclass
class JoinedReader(DataSourceStreamReader):
    """An offset holds that of every log, by name."""

    readers: Mapping[str, LogReader]
    columns: pa.Schema
    tasks: Path

    def initialOffset(self) -> dict[str, dict[str, int]]:  # noqa: N802
        """The initial offsets of all logs."""
        return {name: reader.initialOffset() for name, reader in self.readers.items()}

    def latestOffset(self, start: dict[str, dict[str, int]], limit: Any) -> dict[str, dict[str, int]]:  # noqa: N802
        """The latest offsets of all logs. The operator's own output is among it once its micro-batch is over."""
        return {name: reader.latestOffset(start[name], limit) for name, reader in self.readers.items()}

    def partitions(self, start: dict[str, dict[str, int]], end: dict[str, dict[str, int]]) -> Sequence[InputPartition]:
        """One partition for each task: the rows of all logs, one log after the other, in equal parts."""
        ranges, total = [], 0
        for name in self.readers:
            first, last = start[name]["rows"], end[name]["rows"]
            ranges.append((name, first, total, total := total + last - first))
        parts = []
        for from_row, to_row in divide_rows(0, total, read_number(self.tasks)):
            extents = {}
            for name, first, begins, ends in ranges:
                a, b = max(from_row, begins), min(to_row, ends)
                if a < b:
                    (extents[name],) = self.readers[name].log.divide(first + a - begins, first + b - begins, 1)
            parts.append(JoinedPartition(extents))
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition; runs in a task."""
        if isinstance(partition, JoinedPartition):
            for name, extents in partition.extents.items():
                for batch in self.readers[name].rows(extents):
                    yield _with_columns(batch, self.columns)

    def commit(self, end: dict[str, dict[str, int]]) -> None:
        """Pass the commit on to every log."""
        for name, reader in self.readers.items():
            reader.commit(end[name])


def _with_columns(batch: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    """The same rows with all columns; those that they lack are null."""
    there = set(batch.schema.names)
    arrays = [batch.column(c.name) if c.name in there else pa.nulls(batch.num_rows, c.type) for c in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)
