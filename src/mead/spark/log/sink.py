"""The embedded log as a sink: workers write files, Java commits them.

PySpark's interface for sinks starts a Python process for every commit, which takes longer than everything else in a
small micro-batch. Here the last step of a query is a function on Arrow batches that writes them into a file and returns
its name. The driver sees a few names per micro-batch and appends them to the index of the `StreamLog`, once and all
together.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mead.spark.log.store import Store
from mead.spark.log.stream_log import INDEX, StreamLog
from mead.spark.runtime.java_code import find_loader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

FILE_COLUMNS = "file string, rows bigint, note string, addressed string"
"""Columns by which a task reports its file (`WrittenFile.row`); the last two are JSON."""

SINK = "mead.LogSink"

SINK_SOURCE = Path(__file__).with_name("LogSink.java")


def write_stream(output: DataFrame, folder: Path, store: Store | None = None) -> DataStreamWriter:
    """Return a writer of the stream, to be started. Only one query at a time may write into a folder.

    Rows go into files in the folder, or into another ``store``.
    """
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - loads PySpark

    folder = folder.resolve()  # Java and workers may run in other folders
    # Readers of the log use names and types of its columns, not their nullability.
    log, columns = StreamLog(folder, store=store), to_arrow_schema(output.schema)
    schema = pa.schema([(column.name, column.type) for column in columns])

    def written(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        file = log.write((pa.RecordBatch.from_arrays(some.columns, schema=schema) for some in batches), schema)
        yield file.row()

    return commit_files(output.mapInArrow(written, FILE_COLUMNS), folder)


def commit_files(files: DataFrame, folder: Path) -> DataStreamWriter:
    """Return a writer of a stream of `FILE_COLUMNS`. Start it in the calling thread."""
    context, last = files.sparkSession.sparkContext, StreamLog(folder).repair()
    # Spark looks the class of a sink up in the class loader of the thread that starts the query.
    jvm: Any = context._jvm  # noqa: SLF001 - the only way to Java
    jvm.java.lang.Thread.currentThread().setContextClassLoader(find_loader(context, SINK_SOURCE, SINK))
    return files.writeStream.format(SINK).option("index", str((folder / INDEX).resolve())).option("last", str(last))
