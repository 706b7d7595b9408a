"""Results as Parquet files that other programs read at any time.

Rows are appended to the last file of the folder until it is large: a task writes it again with the new rows under a
hidden name, and renames it. So there are few files, and a reader sees the old or the new one. Every append is a row
group of its own, and those before it stay as they were. So even a reader that has taken the size or the footer of a
file before it was replaced gets whole appends from it. No file is ever removed.

Each file has the offset up to which the log is in it. So an append that is repeated after a crash changes nothing.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.datasource import InputPartition

from mead.spark.log.addresses import select_rows
from mead.spark.log.source import LogReader
from mead.spark.log.store import WAY_OUT, LogError
from mead.spark.log.stream_log import LOCK_S, Extent, StreamLog

RESULT_COLUMNS = "end bigint"
"""The row that a task returns to Spark."""

MOST_BYTES, MOST_APPENDS = 8 * 1024**2, 120
"""Size and row groups from which on a file is not written again. Small results make three files an hour."""

ROWS_AT_ONCE = 100_000
"""Maximum rows of a row group."""

END = b"mead.end"
"""Key in the footer of a file: the offset of the log after its last row."""


@dataclass(frozen=True)
class ResultFiles:
    """The Parquet files in a folder, named by the offsets at which they begin."""

    folder: Path

    @property
    def end(self) -> int:
        """The offset of the log up to which rows are here. Raises LogError if the last file cannot be read."""
        last = self._last()
        return _read_end(last) if last else 0

    def append(self, first: int, end: int, rows: Iterable[pa.RecordBatch], reader: str, schema: pa.Schema) -> None:
        """Append those rows of the log from offset ``first`` to ``end`` that are for a reader and not here yet."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._locked():
            for leftover in self.folder.glob(".*.parquet"):  # of a task that was killed
                leftover.unlink()
            here = self.end
            if here >= end:
                return
            new = _in_tables(_for_reader(rows, first, here, reader), schema)
            if (begun := next(new, None)) is None:
                return
            last, hidden = self._last(), self.folder / f".{uuid4().hex}.parquet"
            old = last if last and _has_room(last, schema) else None
            try:
                with pq.ParquetWriter(hidden, schema, write_page_checksum=True) as writer:
                    for table in chain(_read_groups(old) if old else (), [begun], new):
                        writer.write_table(table)
                    writer.add_key_value_metadata({END: str(end)})
                hidden.rename(old or self.folder / f"rows-{max(first, here):015d}.parquet")
            finally:
                hidden.unlink(missing_ok=True)

    def _last(self) -> Path | None:
        return max(self.folder.glob("rows-*.parquet"), default=None)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the folder: a task of an earlier run may still be at work. Raises LogError if it takes too long."""
        with (self.folder / ".lock").open("w") as file:
            until_s = time.monotonic() + LOCK_S
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until_s:
                        raise LogError(f"{self.folder}: another process is writing to it and does not end") from None
                    time.sleep(0.05)
            yield


class ResultsPartition(InputPartition):
    """The rows of one append."""

    def __init__(self, first: int, end: int, extents: list[Extent]) -> None:
        super().__init__(None)
        self.first, self.end, self.extents = first, end, extents


class ResultsReader(LogReader):
    """Reads a log for its results, and appends them to files, in one task."""

    def __init__(self, log: StreamLog, consumer: str, schema: pa.Schema, files: ResultFiles) -> None:
        super().__init__(log, consumer, tasks=None)
        self.schema, self.files = schema, files

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Return one partition with all rows."""
        first, last = start["rows"], end["rows"]
        return [ResultsPartition(first, last, extents) for extents in self.log.divide(first, last, 1)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Append the rows; yield the offset reached."""
        if isinstance(partition, ResultsPartition):
            rows = self.log.read(partition.extents)
            self.files.append(partition.first, partition.end, rows, self.consumer, self.schema)
            yield pa.record_batch({"end": [partition.end]})


def _for_reader(rows: Iterable[pa.RecordBatch], first: int, after: int, reader: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows for a reader, without those before an offset."""
    for batch in rows:
        skip = min(max(after - first, 0), batch.num_rows)
        first += batch.num_rows
        yield select_rows(batch.slice(skip), reader)


def _in_tables(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield batches put together for row groups; none is empty."""
    waiting: list[Any] = []
    rows = 0
    for batch in chain(batches, [None]):
        if batch is not None and batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
        if rows >= ROWS_AT_ONCE or (rows and batch is None):
            yield pa.Table.from_batches(waiting).cast(schema)
            waiting, rows = [], 0


def _has_room(path: Path, schema: pa.Schema) -> bool:
    """Return whether rows of this schema are still appended to a file."""
    groups = pq.read_metadata(path).num_row_groups
    return path.stat().st_size < MOST_BYTES and groups < MOST_APPENDS and pq.read_schema(path).equals(schema)


def _read_groups(path: Path) -> Iterator[pa.Table]:
    """Yield the row groups of a file. Raises LogError if they are not as they were written."""
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        for number in range(file.num_row_groups):
            try:
                group = file.read_row_group(number)
            except (pa.ArrowException, OSError) as error:
                raise _damaged(path, error) from None
            if group.num_rows != (rows := file.metadata.row_group(number).num_rows):  # headers have no checksum
                raise _damaged(path, ValueError(f"{group.num_rows} instead of {rows} rows"))
            yield group


def _read_end(path: Path) -> int:
    try:
        return int((pq.read_metadata(path).metadata or {})[END])
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> LogError:
    return LogError(f"{path}: damaged ({' '.join(str(error).split())}); {WAY_OUT}")
