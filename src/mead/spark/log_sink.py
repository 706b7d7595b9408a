"""The embedded log as a sink: workers write the files, and the driver commits them in a few lines of Java.

PySpark's own interface for sinks starts a Python process for every commit, which takes longer than everything else in
a small micro-batch. Here the last step of a query is a function on Arrow batches that writes them into a file, where
they are, and passes on only its name. What the driver sees of a micro-batch is a few names, which it appends to the
index: see `log` for why all of them count, or none, and no batch twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from mead.spark.java_code import instance
from mead.spark.log import INDEX, StreamLog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

WRITTEN = "file string, rows bigint, note string"
"""What a task says of what it has written; a note is JSON."""

COMMITTER = "mead.LogCommitter"

COMMITTER_SOURCE = """
package mead;

import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.zip.CRC32;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

public class LogCommitter implements VoidFunction2 {
    private String index;
    private long last;

    public void into(String index, int last) {
        this.index = index;
        this.last = last;
    }

    public void call(Object files, Object number) throws Exception {
        long batch = ((Long) number).longValue();
        List rows = ((Dataset) files).collectAsList();
        if (batch <= last) {
            return;
        }
        StringBuilder content = new StringBuilder("[").append(batch).append(",[");
        for (int i = 0; i < rows.size(); i++) {
            Row row = (Row) rows.get(i);
            content.append(i > 0 ? "," : "").append("[\\"").append(row.getString(0)).append("\\",");
            content.append(row.getLong(1)).append(",").append(row.getString(2)).append("]");
        }
        byte[] bytes = content.append("]]").toString().getBytes(StandardCharsets.UTF_8);
        CRC32 checksum = new CRC32();
        checksum.update(bytes);
        String line = String.format("%08x ", new Object[]{Long.valueOf(checksum.getValue())});
        ByteBuffer whole = ByteBuffer.wrap((line + new String(bytes, StandardCharsets.UTF_8) + "\\n").getBytes(StandardCharsets.UTF_8));
        FileChannel log = FileChannel.open(Paths.get(index, new String[0]), new StandardOpenOption[]{StandardOpenOption.APPEND});
        try {
            while (whole.hasRemaining()) {
                log.write(whole);
            }
        } finally {
            log.close();
        }
        last = batch;
    }
}
"""
"""The same lines as `log` writes. A batch that comes again after a restart is worked on again, and not committed."""


def into_log(output: DataFrame, folder: Path) -> DataStreamWriter:
    """A writer of the stream that has only to be started. Only one query at a time may write into a folder."""
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - loads PySpark

    log, schema = StreamLog(folder), to_arrow_schema(output.schema)

    def written(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        file = log.write(batches, schema)
        yield pa.record_batch({"file": [file.file], "rows": [file.rows], "note": ["null"]})

    return committed(output.mapInArrow(written, WRITTEN), folder)


def committed(files: DataFrame, folder: Path) -> DataStreamWriter:
    """The same for a stream whose rows are `WRITTEN` files."""
    committer = instance(files.sparkSession.sparkContext, COMMITTER_SOURCE, COMMITTER)
    committer.into(str(folder / INDEX), StreamLog(folder).repair())
    writer = files.writeStream
    writer._jwrite.foreachBatch(committer)  # noqa: SLF001 - the Python interface takes functions in Python only
    return writer
