"""Operators that read, work and write in one Python worker.

For Spark the operator is a source whose tasks each return one row: the file written. Rows that travel through Spark
pass between Python workers and Java two or three times in a micro-batch; here they stay in the worker. Spark still
plans micro-batches, runs and repeats tasks, and keeps the offsets.
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
"""Maximum rows of one Arrow batch, whatever the size of the micro-batch."""


@dataclass(frozen=True)
class InPlaceOperator:
    """Input, function and output of such an operator."""

    reader: DataSourceStreamReader
    function: Callable[[pa.RecordBatch], pa.RecordBatch]
    output: StreamLog
    """The log that it writes to."""
    schema: pa.Schema
    """The columns that it writes."""
    stamps: Path | None
    """A folder for the stamps of all its rows; None if they are not needed."""


def make_source(name: str, operator: InPlaceOperator) -> type[DataSource]:
    """Return a source of that name, for Spark to read."""

    class OperatorDataSource(DataSource):
        """Holds the operator in the class, because options can only be text."""

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
    """Reads the operator's output. Offsets and partitions are those of the input."""

    def __init__(self, operator: InPlaceOperator) -> None:
        self.operator = operator

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return the initial offset of the input."""
        return self.operator.reader.initialOffset()

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802
        """Return the latest offset of the input."""
        return self.operator.reader.latestOffset(start, limit)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the partitions of the input."""
        return self.operator.reader.partitions(start, end)

    def commit(self, end: dict[str, Any]) -> None:
        """Commit the input."""
        self.operator.reader.commit(end)

    def stop(self) -> None:
        """Stop the input."""
        self.operator.reader.stop()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read, work and write, in a task; yield the name of the file written."""
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
    """Write all stamps to a file in the folder; return its name."""
    if folder is None or stamps.all_us is None:
        return None
    name = uuid4().hex
    stamps.all_us.tofile(folder / name)
    return name
