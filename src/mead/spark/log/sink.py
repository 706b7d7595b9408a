"""The embedded log as a sink: workers write files, Java commits them.

PySpark's interface for sinks starts a Python process for every commit, which takes longer than everything else in a
small micro-batch. Here the last step of a query is a function on Arrow batches that writes them into a file and returns
its name. The driver sees a few names per micro-batch and appends them to the index of the `StreamLog`, once and all
together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mead.spark.log.store import WAY_OUT, Store
from mead.spark.log.stream_log import COUNTED, StreamLog
from mead.spark.runtime.java_code import find_loader
from mead.spark.telemetry.tree_samples import TREES, TreeSample, WrittenRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

FILE_COLUMNS = "file string, rows bigint, note string, addressed string"
"""Columns by which a task reports its file (`WrittenFile.row`); the last two are JSON."""

SINK = "mead.LogSink"

SINK_SOURCE = Path(__file__).with_name("LogSink.java")


def write_stream(
    output: DataFrame,
    folder: Path,
    store: Store | None = None,
    stamps: Path | None = None,
    counts: str | None = None,
) -> DataStreamWriter:
    """Return a writer of the stream, to be started. Only one query at a time may write into a folder.

    Rows go into files in the folder, or into another ``store``; stamps of inputs that are followed into ``stamps``.
    The log counts the values of the column ``counts``.
    """
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - loads PySpark

    folder = folder.resolve()  # Java and workers may run in other folders
    # Readers of the log use names and types of its columns, not their nullability.
    log, columns = StreamLog(folder, store=store, counts=counts), to_arrow_schema(output.schema)
    schema = pa.schema([(column.name, column.type) for column in columns])

    def written(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        followed = WrittenRows()

        def seen() -> Iterator[pa.RecordBatch]:
            for some in batches:
                rows = pa.RecordBatch.from_arrays(some.columns, schema=schema)
                if stamps is not None:
                    followed.add(rows)
                yield rows

        file = log.write(seen(), schema)
        trees = None if stamps is None else TreeSample(written_us=followed.stamps_us).write(stamps)
        note = {name: part for name, part in ((TREES, trees), (COUNTED, file.counted)) if part}
        yield file.row(json.dumps(note or None))

    return commit_files(output.mapInArrow(written, FILE_COLUMNS), folder)


def commit_files(files: DataFrame, folder: Path) -> DataStreamWriter:
    """Return a writer of a stream of `FILE_COLUMNS`. Start it in the calling thread.

    From now on, the sinks of earlier writers of the folder add nothing.
    """
    context, log = files.sparkSession.sparkContext, StreamLog(folder.resolve())
    last = log.repair()
    # Spark looks the class of a sink up in the class loader of the thread that starts the query.
    jvm: Any = context._jvm  # noqa: SLF001 - the only way to Java
    jvm.java.lang.Thread.currentThread().setContextClassLoader(find_loader(context, SINK_SOURCE, SINK))
    options = {"folder": str(log.folder), "last": str(last), "token": log.token, "remedy": WAY_OUT}
    return files.writeStream.format(SINK).options(**options)
