package mead;

import java.util.concurrent.LinkedBlockingDeque;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/** Queues the reports of all queries. A full queue drops the oldest; they become text when they are fetched. */
public class ProgressQueue extends StreamingQueryListener {
    private final LinkedBlockingDeque queue = new LinkedBlockingDeque(100000);

    public void onQueryStarted(StreamingQueryListener.QueryStartedEvent event) {
    }

    public void onQueryProgress(StreamingQueryListener.QueryProgressEvent event) {
        while (!queue.offerLast(event.progress())) {
            queue.pollFirst();
        }
    }

    public void onQueryTerminated(StreamingQueryListener.QueryTerminatedEvent event) {
    }

    public String drain() {
        StringBuilder all = new StringBuilder();
        Object one;
        while ((one = queue.pollFirst()) != null) {
            all.append(((org.apache.spark.sql.streaming.StreamingQueryProgress) one).json()).append('\n');
        }
        return all.toString();
    }
}
