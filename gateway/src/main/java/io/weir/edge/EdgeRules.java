package io.weir.edge;

import io.weir.drain.Drain;
import java.util.concurrent.TimeUnit;

/**
 * What every connection is held to, as plain numbers.
 *
 * @param maxUriLength bytes of a request line, or of {@code :path}
 * @param maxHeaderSize bytes of a header section
 * @param maxHeaderCount fields of a header section
 * @param headNanos time for a request's head
 * @param keepAliveNanos time between requests
 */
record EdgeRules(
        int maxUriLength,
        int maxHeaderSize,
        int maxHeaderCount,
        long headNanos,
        long keepAliveNanos,
        Drain drain,
        EdgeListener listener) {

    /** Bytes of a body that nobody reads which are dropped; as many again while a connection lingers. */
    static final int UNREAD_MAX_BYTES = 64 * 1024;

    /** For how long a connection lingers, so that its caller can read the answer. */
    static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** Between telling an HTTP/2 caller to open no more streams, and closing the connection: more than a round trip. */
    static final long GOING_AWAY_NANOS = TimeUnit.SECONDS.toNanos(1);

    static EdgeRules of(EdgeProperties properties, Drain drain, EdgeListener listener) {
        return new EdgeRules(
                Math.toIntExact(properties.maxUriLength().toBytes()),
                Math.toIntExact(properties.maxHeaderSize().toBytes()),
                properties.maxHeaderCount(),
                properties.headTimeout().toNanos(),
                properties.keepAliveTimeout().toNanos(),
                drain,
                listener);
    }

    /**
     * The size of a header list, as HTTP/2 counts it, that keeps all the other rules. What is larger is refused by the codec, which can
     * only do that in its own words; what is smaller, by the guard.
     */
    long maxHeaderListSize() {
        int perField = 32;
        int pseudoFields = 4;
        return maxUriLength + (long) maxHeaderSize + (long) perField * (maxHeaderCount + pseudoFields) + 1024;
    }
}
