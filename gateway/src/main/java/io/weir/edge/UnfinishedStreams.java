package io.weir.edge;

import io.netty.handler.codec.http2.Http2FrameStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The HTTP/2 streams that only the caller keeps open: the response is complete but the request is not, or the
 * caller does not read a refusal. Each has a limit of time and of bytes. The map is bounded by the limit of
 * concurrent streams.
 *
 * <p>Concurrency: confined to the connection's event loop.
 */
final class UnfinishedStreams {

    private final Map<Integer, Entry> entries = new HashMap<>();
    private final long timeoutNanos;

    private static final class Entry {

        private final Http2FrameStream stream;
        private final long deadlineNanos;
        private long receivedBytes;

        Entry(Http2FrameStream stream, long deadlineNanos) {
            this.stream = stream;
            this.deadlineNanos = deadlineNanos;
        }
    }

    UnfinishedStreams(long timeoutNanos) {
        this.timeoutNanos = timeoutNanos;
    }

    void add(Http2FrameStream stream, long nowNanos) {
        entries.put(stream.id(), new Entry(stream, nowNanos + timeoutNanos));
    }

    void remove(int streamId) {
        entries.remove(streamId);
    }

    /** Counts the bytes of a DATA frame; returns whether the stream exceeds the limit of unread bytes. */
    boolean exceedsLimit(@Nullable Http2FrameStream stream, int bytes) {
        if (entries.isEmpty() || stream == null) {
            return false;
        }
        Entry entry = entries.get(stream.id());
        if (entry == null) {
            return false;
        }
        entry.receivedBytes += bytes;
        return entry.receivedBytes > EdgeRules.UNREAD_MAX_BYTES;
    }

    /** The time until the first deadline; {@link Long#MAX_VALUE} if there is no stream. */
    long nanosUntilDeadline(long nowNanos) {
        long nanos = Long.MAX_VALUE;
        for (Entry entry : entries.values()) {
            nanos = Math.min(nanos, entry.deadlineNanos - nowNanos);
        }
        return nanos;
    }

    /** The streams whose deadline has passed. */
    List<Http2FrameStream> overdue(long nowNanos) {
        return entries.values().stream()
                .filter(entry -> entry.deadlineNanos - nowNanos <= 0)
                .map(entry -> entry.stream)
                .toList();
    }
}
