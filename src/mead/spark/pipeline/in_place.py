"""An operator that works where its rows are: one Python worker reads, works and writes, and Spark sees only names.

To Spark it is a source whose tasks each return one row: the file that was written. Rows that travel through Spark pass
from one Python worker to Java and on to the next, two or three times in a micro-batch; here they stay in the worker.
Spark still decides what a micro-batch is, runs its tasks, repeats those that fail, and keeps the offsets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from mead.spark.log.sink import FILE_COLUMNS
from mead.spark.log.stream_log import StreamLog
from mead.spark.telemetry.probe import NONE_US, STAMP, Stamps

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

MOST_ROWS = 10_000
"""Most rows in one Arrow batch, whatever the size of the micro-batch."""


@dataclass(frozen=True)
class InPlaceOperator:
    """What such an operator reads, does and writes."""

    reader: DataSourceStreamReader
    """Reads the input."""
    function: Callable[[pa.RecordBatch], pa.RecordBatch]
    output: StreamLog
    """The log that it writes to."""
    schema: pa.Schema
    """The columns that it writes."""
    stamps: Path | None
    """A folder for the stamps of all its rows; None if nobody wants them."""


def make_source(name: str, operator: InPlaceOperator) -> type[DataSource]:
    """A source of that name, for Spark to read."""

    class OperatorDataSource(DataSource):
        """The operator travels inside the class, because options can only be text."""

        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return FILE_COLUMNS

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - PySpark's name
            del schema
            return InPlaceReader(operator)

    return OperatorDataSource


class InPlaceReader(DataSourceStreamReader):
    """Offsets and partitions are those of the input."""

    def __init__(self, operator: InPlaceOperator) -> None:
        self.operator = operator

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """The initial offset of the input."""
        return self.operator.reader.initialOffset()

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802
        """The latest offset of the input."""
        return self.operator.reader.latestOffset(start, limit)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The partitions of the input."""
        return self.operator.reader.partitions(start, end)

    def commit(self, end: dict[str, Any]) -> None:
        """Pass the commit on to the input."""
        self.operator.reader.commit(end)

    def stop(self) -> None:
        """Stop the input."""
        self.operator.reader.stop()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Do all of the work, in a task: read, work and write. Returns the name of the file that was written."""
        operator, arrivals_us, unstamped = self.operator, [NONE_US], 0

        def worked() -> Iterator[pa.RecordBatch]:
            nonlocal unstamped
            for rows in operator.reader.read(partition):
                if not isinstance(rows, pa.RecordBatch):
                    raise TypeError(f"{type(operator.reader).__name__} does not read Arrow batches")
                for first in range(0, rows.num_rows, MOST_ROWS):
                    some = rows.slice(first, MOST_ROWS)
                    stamps_us = some.column(STAMP)
                    unstamped += stamps_us.null_count
                    arrivals_us.append(stamps_us.drop_null().to_numpy())
                    made = operator.function(some)
                    yield pa.RecordBatch.from_arrays(made.columns, schema=operator.schema)

        written = operator.output.write(worked(), operator.schema)
        stamps = Stamps.of(np.concatenate(arrivals_us), unstamped)
        note = stamps.note(_write_stamps(stamps, operator.stamps))
        yield written.row(json.dumps(note))


def _write_stamps(stamps: Stamps, folder: Path | None) -> str | None:
    """Write all stamps to a file in the folder; returns its name."""
    if folder is None or stamps.all_us is None:
        return None
    name = uuid4().hex
    stamps.all_us.tofile(folder / name)
    return name
