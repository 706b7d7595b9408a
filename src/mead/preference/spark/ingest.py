"""Any streaming DataFrame into the log of tuples: exactly once, each with its event time, and only those that count.

A tuple without an event time belongs to no window, and one without a number in a preferred column is neither better nor
worse than another. Such tuples are turned away and counted; they do not stop the stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from mead.preference.kernels.dominance import PreferenceError, Preferences
from mead.preference.spark.arrival_times import WRITTEN_S
from mead.preference.spark.query_spec import ARRIVAL, END, EVENT, RESERVED, START, WINDOW
from mead.spark.log.sink import WRITTEN, committed
from mead.spark.log.stream_log import StreamLog

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType


def check_columns(df: DataFrame, preferences: Preferences, *times: str) -> None:
    """Complain about what cannot be asked of this stream, before it starts."""
    from pyspark.sql.types import NumericType  # noqa: PLC0415 - loads PySpark

    if not df.isStreaming:
        raise PreferenceError("the DataFrame does not stream; read it with spark.readStream")
    for name in (*preferences.columns, *times):
        if name not in df.columns:
            raise PreferenceError(f"there is no column {name}; there are {', '.join(df.columns)}")
    if clash := sorted(set(df.columns) & set(RESERVED)):
        raise PreferenceError(f"column {clash[0]}: results have a column of that name; rename yours")
    for name in preferences.columns:
        if not isinstance(kind := df.schema[name].dataType, NumericType):
            raise PreferenceError(
                f"column {name} holds {kind.simpleString()}; only numbers can be minimised or maximised"
            )


def tuples_into_log(
    df: DataFrame, folder: Path, preferences: Preferences, event_time: str, arrival_time: str | None
) -> DataStreamWriter:
    """A writer of the stream that has only to be started, in the thread that has called this."""
    event = _micros(df, event_time).alias(EVENT)
    # Without arrivals, the tuples of a micro-batch are taken in the order of their events: nothing else is known.
    arrival = _micros(df, arrival_time or event_time).alias(ARRIVAL)
    stamped = df.select(event, arrival, *(df[f"`{name}`"] for name in df.columns))
    write = partial(_written, StreamLog(folder), arrow_columns(stamped.schema), preferences)
    return committed(stamped.mapInArrow(write, WRITTEN), folder)


def result_schema(df: DataFrame) -> StructType:
    """The columns of the windows' results."""
    from pyspark.sql.types import LongType, StructField, StructType, TimestampType  # noqa: PLC0415 - loads PySpark

    bounds = [StructField(WINDOW, LongType()), StructField(START, TimestampType()), StructField(END, TimestampType())]
    return StructType([*bounds, *df.schema.fields])


def arrow_columns(columns: StructType) -> pa.Schema:
    """Names and types, and not whether there may be nulls: nobody who reads a log is told that."""
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
        f"column {name} holds {kind.simpleString()}; a time is a timestamp, or a bigint in microseconds since 1970"
    )


def _written(
    log: StreamLog, columns: pa.Schema, preferences: Preferences, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write rows in a task: one file, in order of arrival as far as the task can tell, and how many were rejected."""
    rows = [pa.RecordBatch.from_arrays(batch.columns, schema=columns) for batch in batches]
    table = pa.Table.from_batches(rows, schema=columns)
    good = countable(table, preferences)
    kept = table.filter(pa.array(good)).sort_by([(ARRIVAL, "ascending"), (EVENT, "ascending")]).combine_chunks()
    written = log.write(kept.to_batches(), columns)
    yield written.row(json.dumps({"rejected": int(np.count_nonzero(~good)), WRITTEN_S: time()}))


def countable(rows: pa.Table, preferences: Preferences) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which rows have their times and finite numbers to be preferred by.

    >>> rows = pa.table({"_event_us": [1, 2, None], "_arrival_us": [1, 2, 3], "price": [3.5, None, 1.0]})
    >>> countable(rows, Preferences.of(price="min")).tolist()
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
