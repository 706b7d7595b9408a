"""The embedded log as a source of streaming queries. For the way into it see `log_sink`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from mead.spark.log import Extent, StreamLog
from mead.spark.tasks import ordered_tasks

FORMAT = "mead-log"


class LogDataSource(DataSource):
    """A log by its folder.

    Options: ``path``, the folder; ``schema`` (DDL); ``consumer``, a name under which rows are kept; ``tasks``, a file
    with the number of tasks.
    """

    @classmethod
    def name(cls) -> str:
        """For ``format(...)``."""
        return FORMAT

    def schema(self) -> str:
        """As told: a log may still be empty when a query starts."""
        return self.options["schema"]

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - PySpark's name
        """Rows from the log."""
        del schema
        return LogReader(Path(self.options["path"]), self.options["consumer"], Path(self.options["tasks"]))


@dataclass
class Slice(InputPartition):
    """What one task reads."""

    pieces: list[Extent]

    def __init__(self, pieces: list[Extent]) -> None:
        super().__init__(None)
        self.pieces = pieces


class LogReader(DataSourceStreamReader):
    """Offsets are numbers of rows. The number of tasks is asked for anew for every micro-batch."""

    def __init__(self, folder: Path, consumer: str, tasks: Path) -> None:
        self.log, self.consumer, self.tasks = StreamLog(folder), consumer, tasks

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """The first row that is kept."""
        self.log.register(self.consumer)
        return {"rows": self.log.start}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """All there is: a batch takes what has come since the one before."""
        del start, limit
        return {"rows": self.log.end}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """One for each task."""
        tasks = ordered_tasks(self.tasks)
        return [Slice(pieces) for pieces in self.log.pieces(start["rows"], end["rows"], tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """In a task."""
        if isinstance(partition, Slice):
            yield from self.log.read(partition.pieces)

    def commit(self, end: dict[str, int]) -> None:
        """What lies below has been dealt with."""
        self.log.consumed(self.consumer, end["rows"])
