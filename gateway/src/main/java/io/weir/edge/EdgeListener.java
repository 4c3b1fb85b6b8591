package io.weir.edge;

import io.weir.outcome.Reason;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Receives the events of callers' connections that belong to no exchange. Called on event loops; must not
 * block.
 */
public interface EdgeListener {

    /** Ignores every event. */
    EdgeListener NONE = new EdgeListener() {
        @Override
        public void connectionOpened() {}

        @Override
        public void connectionClosed() {}

        @Override
        public void connectionRejected(@Nullable SocketAddress remote) {}

        @Override
        public void connectionFlooded(@Nullable SocketAddress remote) {}

        @Override
        public void handshakeEnded(Handshake handshake) {}

        @Override
        public void refused(
                Reason reason,
                String requestId,
                @Nullable String method,
                @Nullable String target,
                @Nullable SocketAddress remote,
                long waitedNanos,
                int answerBytes) {}
    };

    /** A connection was accepted. */
    void connectionOpened();

    /** An accepted connection was closed. */
    void connectionClosed();

    /** A connection was closed at once, because the limit of connections is reached. */
    void connectionRejected(@Nullable SocketAddress remote);

    /** An HTTP/2 connection ends, because its caller floods it with frames. */
    void connectionFlooded(@Nullable SocketAddress remote);

    /** The TLS handshake of a connection has succeeded or failed. */
    void handshakeEnded(Handshake handshake);

    /**
     * A request, or the beginning of one, was refused while it was decoded. No exchange reports it. A
     * violation of HTTP/2 is reported as {@link Reason#BAD_REQUEST}, without a method.
     *
     * @param reason why it was refused
     * @param requestId the request's id, as in the answer; may be empty if there is no answer
     * @param method the method; null if it could not be decoded
     * @param target the request's target as received, of any length and content; null if it could not be
     *     decoded
     * @param remote the address of the peer
     * @param waitedNanos the time spent waiting for the request; 0 if the reason is not a time-out
     * @param answerBytes the size of the answer's body; 0 if it has none, or if there is no answer
     */
    void refused(
            Reason reason,
            String requestId,
            @Nullable String method,
            @Nullable String target,
            @Nullable SocketAddress remote,
            long waitedNanos,
            int answerBytes);
}
