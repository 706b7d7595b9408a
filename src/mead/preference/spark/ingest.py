"""Write a streaming DataFrame into the log of tuples, exactly once.

A tuple without an event time belongs to no window, and one without a number in a preferred column cannot be compared.
Such tuples are rejected and counted; they do not stop the stream.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mead.preference.kernels.dominance import PreferenceError, Preferences
from mead.preference.spark.query_spec import ARRIVAL, END, EVENT, RESERVED, START, WINDOW
from mead.spark.log.sink import FILE_COLUMNS, commit_files
from mead.spark.log.stream_log import StreamLog

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType


WRITTEN_S = "written_s"
"""Key in the note of a task: when it wrote its tuples, in seconds since 1970."""


def check_columns(df: DataFrame, preferences: Preferences, *times: str) -> None:
    """Raise `PreferenceError` if the stream cannot answer the query."""
    from pyspark.sql.types import NumericType  # noqa: PLC0415 - loads PySpark

    if not df.isStreaming:
        raise PreferenceError("the DataFrame is not a stream; read it with spark.readStream")
    for name in (*preferences.columns, *times):
        if name not in df.columns:
            raise PreferenceError(f"no column {name}; there are {', '.join(df.columns)}")
    if clash := sorted(set(df.columns) & set(RESERVED)):
        raise PreferenceError(f"column {clash[0]}: the name is reserved for results; rename the column")
    for name in preferences.columns:
        if not isinstance(kind := df.schema[name].dataType, NumericType):
            raise PreferenceError(f"column {name} is {kind.simpleString()}; only numbers can be minimised or maximised")


def write_tuples(
    df: DataFrame, folder: Path, preferences: Preferences, event_time: str, arrival_time: str | None
) -> DataStreamWriter:
    """Return a writer of the stream, to be started in the calling thread."""
    event = _micros(df, event_time).alias(EVENT)
    # Without arrival times, event times order the tuples of a micro-batch.
    arrival = _micros(df, arrival_time or event_time).alias(ARRIVAL)
    stamped = df.select(event, arrival, *(df[f"`{name}`"] for name in df.columns))
    write = partial(_write_rows, StreamLog(folder), arrow_columns(stamped.schema), preferences)
    return commit_files(stamped.mapInArrow(write, FILE_COLUMNS), folder)


def result_schema(df: DataFrame) -> StructType:
    """Return the columns of the windows' results."""
    from pyspark.sql.types import LongType, StructField, StructType, TimestampType  # noqa: PLC0415 - loads PySpark

    bounds = [StructField(WINDOW, LongType()), StructField(START, TimestampType()), StructField(END, TimestampType())]
    return StructType([*bounds, *df.schema.fields])


def arrow_columns(columns: StructType) -> pa.Schema:
    """Return names and types without nullability, which readers of a log do not use."""
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - loads PySpark

    return pa.schema([(column.name, column.type) for column in to_arrow_schema(columns, timezone="UTC")])


def _micros(df: DataFrame, name: str) -> Column:
    from pyspark.sql import functions as f  # noqa: PLC0415 - loads PySpark
    from pyspark.sql.types import IntegralType, TimestampNTZType, TimestampType  # noqa: PLC0415 - as above

    column, kind = df[f"`{name}`"], df.schema[name].dataType
    if isinstance(kind, TimestampType | TimestampNTZType):
        return f.unix_micros(column.cast("timestamp"))
    if isinstance(kind, IntegralType):
        return column.cast("bigint")
    raise PreferenceError(
        f"column {name} is {kind.simpleString()}; a time must be a timestamp, or a bigint in microseconds since 1970"
    )


def _write_rows(
    log: StreamLog, columns: pa.Schema, preferences: Preferences, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write rows in a task: one file, sorted by arrival, and the number of rejected rows."""
    rows = [pa.RecordBatch.from_arrays(batch.columns, schema=columns) for batch in batches]
    table = pa.Table.from_batches(rows, schema=columns)
    good = find_valid_rows(table, preferences)
    now_s = time()
    place = columns.get_field_index(ARRIVAL)  # no tuple arrives after it is read, whatever its clock says
    table = table.set_column(place, columns.field(place), pc.min_element_wise(table.column(place), int(1e6 * now_s)))
    kept = table.filter(pa.array(good)).sort_by([(ARRIVAL, "ascending"), (EVENT, "ascending")]).combine_chunks()
    written = log.write(kept.to_batches(), columns)
    yield written.row(json.dumps({"rejected": int(np.count_nonzero(~good)), WRITTEN_S: now_s}))


def find_valid_rows(rows: pa.Table, preferences: Preferences) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which rows have their times and finite numbers in the preferred columns.

    >>> rows = pa.table({"_event_us": [1, 2, None], "_arrival_us": [1, 2, 3], "price": [3.5, None, 1.0]})
    >>> find_valid_rows(rows, Preferences.of(price="min")).tolist()
    [True, False, False]
    """
    good = np.ones(rows.num_rows, dtype=np.bool_)
    for name in (EVENT, ARRIVAL):
        good &= rows.column(name).is_valid().to_numpy()
    for name in preferences.columns:
        column = rows.column(name)
        good &= column.is_valid().to_numpy()
        if pa.types.is_floating(column.type):
            good &= np.isfinite(column.fill_null(0.0).to_numpy())
    return good


class ArrivalTimes:
    """Times at which tuples came into the log, from the notes of the tasks that wrote it.

    Time stamps of tuples would not do: a stream read from files brings an hour of them in a second. Nor would the time
    between two micro-batches of the stages: once these are behind, it equals their own work, and they would never seem
    overloaded.
    """

    def __init__(self, log: Path) -> None:
        self._log = StreamLog(log, keep_notes=True)
        self._batch, self._end = -1, 0
        self._came: deque[tuple[int, float]] = deque()
        """Ends and times of the input's micro-batches that are not processed yet."""
        self._last: tuple[int, float] | None = None
        """The same for the rows of the last call."""

    def until(self, offset: int) -> float | None:
        """Return when the last rows before an offset came, in seconds since 1970; None if unknown.

        Offsets must not decrease. Within a micro-batch of the input, rows are taken to have come one after the other.
        """
        while self._batch < self._log.last:
            self._batch += 1
            noted = self._log.take_batch_notes(self._batch)
            self._end += noted.rows
            if times_s := [note[WRITTEN_S] for note in noted.notes if WRITTEN_S in note]:
                self._came.append((self._end, max(times_s)))
        found = self._last
        while self._came and self._came[0][0] <= offset:
            found = self._came.popleft()
        if self._came and found is not None and found[0] < offset:
            (first, before_s), (end, came_s) = found, self._came[0]
            found = offset, before_s + (came_s - before_s) * (offset - first) / (end - first)
        if found is None or found == self._last:
            return None
        self._last = found
        return found[1]
