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

/**
 * Appends the files of a micro-batch to the index of a StreamLog, in one line.
 *
 * A batch repeated after a restart is processed again, but not committed. Spark numbers batches without gaps. A gap
 * means that the index has lost lines that the checkpoint counts as done, after a crash of the machine or in a folder
 * put together from two.
 */
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
            append("00000000".substring(number.length()) + number + " " + text + "\n");
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
