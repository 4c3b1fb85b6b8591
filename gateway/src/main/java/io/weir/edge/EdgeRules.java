package io.weir.edge;

import io.weir.drain.Drain;
import java.util.concurrent.TimeUnit;

/**
 * The limits of every caller's connection as plain numbers, and the shared objects of its handlers.
 *
 * @param maxUriLength bytes of a request line, or of {@code :path}
 * @param maxHeaderSize bytes of a header section
 * @param maxHeaderCount fields of a header section
 * @param maxConcurrentStreams streams at once on an HTTP/2 connection
 * @param headTimeoutNanos time for a request's head
 * @param keepAliveTimeoutNanos idle time between requests
 * @param drain the progress of the gateway's shutdown
 * @param listener receives connections and refusals
 * @param shedding refuses requests while an event loop is overloaded
 */
record EdgeRules(
        int maxUriLength,
        int maxHeaderSize,
        int maxHeaderCount,
        int maxConcurrentStreams,
        long headTimeoutNanos,
        long keepAliveTimeoutNanos,
        Drain drain,
        EdgeListener listener,
        EdgeShedding shedding) {

    /**
     * The number of unread bytes of a body that are dropped; while a connection lingers, the same number
     * again.
     */
    static final int UNREAD_MAX_BYTES = 64 * 1024;

    /** The time for which a connection lingers, so that the caller can read the response. */
    static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** The time between GOAWAY and the close of an HTTP/2 connection: more than a round trip. */
    static final long GOAWAY_GRACE_NANOS = TimeUnit.SECONDS.toNanos(1);

    static EdgeRules of(EdgeProperties properties, Drain drain, EdgeListener listener, EdgeShedding shedding) {
        return new EdgeRules(
                Math.toIntExact(properties.maxUriLength().toBytes()),
                Math.toIntExact(properties.maxHeaderSize().toBytes()),
                properties.maxHeaderCount(),
                properties.maxConcurrentStreams(),
                properties.headTimeout().toNanos(),
                properties.keepAliveTimeout().toNanos(),
                drain,
                listener,
                shedding);
    }

    /** The rules of the management port: the defaults of {@link EdgeProperties}. */
    static EdgeRules ofManagement() {
        return new EdgeRules(
                8 * 1024,
                16 * 1024,
                100,
                100,
                TimeUnit.SECONDS.toNanos(10),
                TimeUnit.SECONDS.toNanos(75),
                new Drain(),
                EdgeListener.NONE,
                EdgeShedding.NONE);
    }

    /**
     * The largest header list, in HTTP/2's measure, that can satisfy all other limits. The codec refuses
     * larger lists in its own form; the guard refuses smaller ones in the form of every other refusal.
     */
    long maxHeaderListSize() {
        int bytesPerField = 32;
        int pseudoFields = 4;
        return maxUriLength + (long) maxHeaderSize + (long) bytesPerField * (maxHeaderCount + pseudoFields) + 1024;
    }
}
