package mead;

import java.io.IOException;
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
 * After a restart Spark repeats its last batch, which is processed again, but not committed. It numbers batches without
 * gaps. A gap means that the index has lost lines that the checkpoint counts as done; an earlier batch means that the
 * checkpoint was deleted or replaced. Another token in the file "writer" means that a later run has taken the folder.
 */
public class LogSink implements StreamSinkProvider {
    public Sink createSink(
        SQLContext context,
        scala.collection.immutable.Map options,
        scala.collection.immutable.Seq columns,
        OutputMode mode
    ) {
        return new Index(
            (String) options.apply("folder"),
            Long.parseLong((String) options.apply("last")),
            (String) options.apply("token"),
            (String) options.apply("remedy")
        );
    }

    public static class Index implements Sink {
        private final String folder;
        private final String token;
        private final String remedy;
        private long last;
        private long length;

        Index(String folder, long last, String token, String remedy) {
            this.folder = folder;
            this.last = last;
            this.token = token;
            this.remedy = remedy;
            this.length = Paths.get(folder, new String[] {"index"}).toFile().length();
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
            if (batch == last) {
                return;
            }
            if (batch != last + 1) {
                String reason = batch > last
                    ? ": batches between them are lost"
                    : ": the checkpoint of the query was deleted or replaced";
                throw new IllegalStateException(
                    folder + "/index ends with batch " + last + ", but batch " + batch + " comes next" + reason
                        + "; " + remedy
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
            try {
                append("00000000".substring(number.length()) + number + " " + text + "\n");
            } catch (IOException error) {
                throw new java.io.UncheckedIOException(folder + "/index", error);
            }
            last = batch;
        }

        /** Appends a line, if this is still the only writer and the index is as this writer has left it. */
        private void append(String line) throws IOException {
            OpenOption[] shared = {StandardOpenOption.READ, StandardOpenOption.WRITE};
            FileChannel writer = FileChannel.open(Paths.get(folder, new String[] {"writer"}), shared);
            try {
                writer.lock(); // until it is closed
                ByteBuffer found = ByteBuffer.allocate(token.length() + 1);
                while (writer.read(found) > 0) {
                }
                if (!token.equals(new String(found.array(), 0, found.position(), StandardCharsets.UTF_8))) {
                    throw new IllegalStateException(folder + ": another run has taken this folder; this one adds nothing");
                }
                OpenOption[] appending = {StandardOpenOption.APPEND};
                FileChannel index = FileChannel.open(Paths.get(folder, new String[] {"index"}), appending);
                try {
                    if (index.size() != length) {
                        throw new IllegalStateException(
                            folder + "/index has " + index.size() + " bytes instead of " + length
                                + ": another program has changed it; " + remedy
                        );
                    }
                    ByteBuffer bytes = ByteBuffer.wrap(line.getBytes(StandardCharsets.UTF_8));
                    while (bytes.hasRemaining()) {
                        index.write(bytes);
                    }
                    length = index.size();
                } finally {
                    index.close();
                }
            } finally {
                writer.close();
            }
        }
    }
}
