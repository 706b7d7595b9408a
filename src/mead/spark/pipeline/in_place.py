"""Operators that read, work and write in one Python worker.

For Spark the operator is a source whose tasks each return one row: the file written. Rows that travel through Spark
pass between Python workers and Java two or three times in a micro-batch; here they stay in the worker. Spark still
plans micro-batches, runs and repeats tasks, and keeps the offsets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from mead.spark.log.sink import FILE_COLUMNS
from mead.spark.log.stream_log import COUNTED, StreamLog, WrittenFile
from mead.spark.telemetry.probe import NONE_US, STAMP, Stamps
from mead.spark.telemetry.tree_samples import TREES, TreeSample, WrittenRows, is_chosen

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

MOST_ROWS = 10_000
"""Maximum rows of one Arrow batch, whatever the size of the micro-batch."""


@dataclass(frozen=True)
class InPlaceOperator:
    """Input, function and output of such an operator."""

    reader: DataSourceStreamReader
    function: Callable[..., pa.RecordBatch]
    """From the rows of a batch to those that it makes; with the state of their keys, if it has one."""
    output: StreamLog
    """The log that it writes to."""
    schema: pa.Schema
    """The columns that it writes."""
    stamps: Path | None
    """A folder for stamps of its rows; None if none are needed."""
    every_stamp: bool = False
    """Whether the stamps of all its rows are needed."""
    follows: bool = False
    """Whether the stamps of rows are needed that come of inputs that are followed."""


def make_source(name: str, reader: DataSourceStreamReader, columns: str = FILE_COLUMNS) -> type[DataSource]:
    """Return a source of that name, for Spark to read by this reader."""

    class ReaderDataSource(DataSource):
        """Holds the reader in the class, because options can only be text."""

        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return columns

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - PySpark's name
            del schema
            return reader

    return ReaderDataSource


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
        written, note = self.process(partition)
        yield written.row(json.dumps(note))

    def process(self, partition: InputPartition) -> tuple[WrittenFile, dict[str, Any]]:
        """Read, work and write; return the file and the note of the task."""
        return self.work(_pieces(self.operator.reader.read(partition)), self.operator.function)

    def work(
        self, batches: Iterable[pa.RecordBatch], function: Callable[[pa.RecordBatch], pa.RecordBatch]
    ) -> tuple[WrittenFile, dict[str, Any]]:
        """Call the function with each batch, write its results, and return the file and a note of the rows."""
        operator, arrivals_us, unstamped, followed = self.operator, [NONE_US], 0, WrittenRows()

        def worked() -> Iterator[pa.RecordBatch]:
            nonlocal unstamped
            for some in batches:
                stamps_us = some.column(STAMP)
                unstamped += stamps_us.null_count
                arrivals_us.append(stamps_us.drop_null().to_numpy())
                made = function(some)
                output = pa.RecordBatch.from_arrays(made.columns, schema=operator.schema)
                if operator.follows:
                    followed.add(output)
                yield output

        written = operator.output.write(worked(), operator.schema)
        read_us = np.concatenate(arrivals_us)
        stamps = Stamps.of(read_us, unstamped)
        note = stamps.note(_write_stamps(stamps, operator.stamps) if operator.every_stamp else None)
        if operator.follows and operator.stamps is not None:
            sample = TreeSample(read_us[is_chosen(read_us)], followed.stamps_us)
            note[TREES] = sample.write(operator.stamps)
        if written.counted is not None:
            note[COUNTED] = written.counted
        return written, note


def _pieces(batches: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    """Yield batches of at most `MOST_ROWS` rows."""
    for rows in batches:
        if not isinstance(rows, pa.RecordBatch):
            raise TypeError(f"a reader of an operator yields Arrow batches, not {type(rows).__name__}")
        for first in range(0, rows.num_rows, MOST_ROWS):
            yield rows.slice(first, MOST_ROWS)


def _write_stamps(stamps: Stamps, folder: Path | None) -> str | None:
    """Write all stamps to a file in the folder; return its name."""
    if folder is None or stamps.all_us is None:
        return None
    name = uuid4().hex
    stamps.all_us.tofile(folder / name)
    return name
