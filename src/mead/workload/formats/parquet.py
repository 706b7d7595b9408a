"""Parquet, the preferred format for traces: exact microseconds, small files, fast to read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mead.arrays import FloatArray, IntArray
from mead.workload.formats.columns import CHUNK_ROWS, Choice, Column, Columns, Pieces, check_rows, unit_in_name
from mead.workload.trace import BadRowError, Trace, TraceError, Unit

BUFFER_BYTES = 1 << 20


@dataclass(frozen=True)
class RowGroup:
    """One row group of one file."""

    path: str
    group: int
    column: str
    type: pa.DataType
    """Type of the column in the schema of the folder. Single files may differ."""

    def chunks(self) -> Iterator[IntArray | FloatArray]:
        """Yield the rows through a small buffer, because a row group may be larger than memory."""
        rows = 0
        with _readable(), pq.ParquetFile(self.path, buffer_size=BUFFER_BYTES) as file:
            for batch in file.iter_batches(CHUNK_ROWS, [self.group], [self.column], use_threads=False):
                try:
                    yield _numbers(pa.chunked_array(batch.columns).cast(self.type), self.column).values
                except BadRowError as error:
                    raise error.after(rows) from error
                rows += batch.num_rows


def read(path: Path, choice: Choice) -> Columns:
    """Read a Parquet file, or a folder of them as Spark writes it."""
    with _readable():
        dataset = pq.ParquetDataset(path)
        names = dataset.schema.names
        arrivals, events = choice.arrivals_among(names), choice.events_among(names)
        check_rows(sum(fragment.metadata.num_rows for fragment in dataset.fragments))
        table = dataset.read(columns=[names[i] for i in (arrivals, events) if i is not None])
    column = _numbers(table.column(names[arrivals]), names[arrivals])
    return Columns(
        arrivals=Column(column.values, choice.unit or column.unit),
        events=None if events is None else _numbers(table.column(names[events]), names[events]),
    )


def split(path: Path, choice: Choice) -> Pieces:
    """Split a file, or all files of a folder, into row groups."""
    with _readable():
        dataset = pq.ParquetDataset(path)
        field = dataset.schema.field(choice.arrivals_among(dataset.schema.names))
        groups = [(file, group) for file in dataset.files for group in range(pq.read_metadata(file).num_row_groups)]
    unit = _numbers(pa.chunked_array([], field.type), field.name).unit
    return Pieces(choice.unit or unit, [RowGroup(file, group, field.name, field.type) for file, group in groups])


@contextmanager
def _readable() -> Iterator[None]:
    """Turn an error of Arrow into a TraceError."""
    try:
        yield
    except TraceError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:  # Arrow has all three for a file that is broken
        if isinstance(error, OSError) and error.errno is not None:
            raise
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise TraceError(f"not a readable Parquet file ({said[0]})") from error


def _numbers(column: pa.ChunkedArray, name: str) -> Column:
    """Convert Arrow values to NumPy numbers with their unit. A timestamp type has its own unit."""
    kind = column.type
    if column.null_count:
        row = pc.index(pc.is_null(column), value=True).as_py()
        raise BadRowError(row + 1, f": column '{name}' has no value there; every row needs a number")
    if pa.types.is_timestamp(kind):
        return Column(column.cast(pa.int64()).to_numpy(), cast(Unit, kind.unit))
    if pa.types.is_integer(kind):
        try:
            return Column(column.cast(pa.int64()).to_numpy(), unit_in_name(name, default="us"))
        except pa.ArrowInvalid as error:
            raise TraceError(f"column '{name}' does not fit into signed 64-bit integers ({error})") from error
    if pa.types.is_floating(kind):
        return Column(column.to_numpy().astype(np.float64), unit_in_name(name, default="s"))
    raise TraceError(f"column '{name}' is of type {kind}; it must hold integers (microseconds) or floats (seconds)")


def write(path: Path, trace: Trace, *, iat: bool) -> None:
    """Write ``timestamp_us`` as int64, with ``event_timestamp_us`` if there are event times; or ``iat_s``."""
    columns: dict[str, IntArray | FloatArray] = (
        {"iat_s": trace.iats_s} if iat else {"timestamp_us": trace.timestamps_us}
    )
    if trace.event_timestamps_us is not None:
        columns["event_timestamp_us"] = trace.event_timestamps_us
    # Gaps between sorted stamps are small, so this encoding takes less than a quarter of plain int64.
    encoding = dict.fromkeys(columns, "BYTE_STREAM_SPLIT" if iat else "DELTA_BINARY_PACKED")
    pq.write_table(pa.table(columns), path, compression="zstd", use_dictionary=False, column_encoding=encoding)
