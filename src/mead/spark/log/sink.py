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

SINK_SOURCE = """
package mead;

import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.OpenOption;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.sources.StreamSinkProvider;
import org.apache.spark.sql.streaming.OutputMode;

public class LogSink implements StreamSinkProvider {
    public Sink createSink(
        SQLContext context,
        scala.collection.immutable.Map options,
        scala.collection.immutable.Seq columns,
        OutputMode mode
    ) {
        return new Index((String) options.apply("index"), Long.parseLong((String) options.apply("last")));
    }

    public static class Index implements Sink {
        private final String index;
        private long last;

        Index(String index, long last) {
            this.index = index;
            this.last = last;
        }

        public String name() {
            return "mead-log";
        }

        public org.apache.spark.sql.types.StructType schema() {
            return new org.apache.spark.sql.types.StructType();
        }

        public java.util.Set capabilities() {
            return java.util.Collections.emptySet();
        }

        public void addBatch(long batch, org.apache.spark.sql.Dataset files) {
            InternalRow[] rows = ((Dataset) files).queryExecution().executedPlan().executeCollect();
            if (batch <= last) {
                return;
            }
            if (batch > last + 1) {
                throw new IllegalStateException(
                    index + " ends with batch " + last + ", so batch " + batch + " cannot be added: those between are "
                        + "lost. Start again in a new folder"
                );
            }
            StringBuilder content = new StringBuilder("[").append(batch).append(",[");
            for (int i = 0; i < rows.length; i++) {
                content.append(i > 0 ? ",[" : "[").append('"').append(rows[i].getUTF8String(0)).append('"');
                content.append(",").append(rows[i].getLong(1)).append(",").append(rows[i].getUTF8String(2));
                content.append(",").append(rows[i].getUTF8String(3)).append("]");
            }
            String text = content.append("]]").toString();
            CRC32 checksum = new CRC32();
            checksum.update(text.getBytes(StandardCharsets.UTF_8));
            String number = Long.toHexString(checksum.getValue());
            append("00000000".substring(number.length()) + number + " " + text + "\\n");
            last = batch;
        }

        private void append(String line) {
            ByteBuffer bytes = ByteBuffer.wrap(line.getBytes(StandardCharsets.UTF_8));
            OpenOption[] options = {StandardOpenOption.APPEND};
            try {
                FileChannel log = FileChannel.open(Paths.get(index, new String[0]), options);
                try {
                    while (bytes.hasRemaining()) {
                        log.write(bytes);
                    }
                } finally {
                    log.close();
                }
            } catch (java.io.IOException error) {
                throw new java.io.UncheckedIOException(index, error);
            }
        }
    }
}
"""
"""Writes the index that `StreamLog` reads. A batch repeated after a restart is processed again, but not committed.

Spark numbers batches without gaps. A gap means that the index has lost lines that the checkpoint counts as done, after
a crash of the machine or in a folder put together from two.
"""


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
