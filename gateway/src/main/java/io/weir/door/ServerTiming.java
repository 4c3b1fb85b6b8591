package io.weir.door;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;

/** The field {@code Server-Timing} of an answer: the time in the queue, and in the backend. */
final class ServerTiming {

    private static final AsciiString SERVER_TIMING = AsciiString.cached("server-timing");

    private ServerTiming() {}

    static void write(HttpHeaders head, long queueNanos, long backendNanos) {
        head.add(SERVER_TIMING, "queue;dur=" + millis(queueNanos) + ", backend;dur=" + millis(backendNanos));
    }

    private static String millis(long nanos) {
        long micros = nanos / 1_000;
        return micros / 1_000 + "." + String.valueOf(1_000 + micros % 1_000).substring(1);
    }
}
