package io.weir.edge;

import io.weir.outcome.Reason;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/** Told of what happens to callers before there is an exchange. Called on event loops; must not block. */
public interface EdgeListener {

    /** Nobody listens. */
    EdgeListener NONE = new EdgeListener() {
        @Override
        public void connectionOpened() {}

        @Override
        public void connectionClosed() {}

        @Override
        public void connectionRejected(@Nullable SocketAddress remote) {}

        @Override
        public void refused(
                Reason reason,
                @Nullable String method,
                @Nullable String target,
                @Nullable SocketAddress remote,
                long nanos) {}
    };

    /** A connection was accepted. */
    void connectionOpened();

    /** A connection that had been accepted is closed. */
    void connectionClosed();

    /** A connection was closed at once, since there are as many as there may be. */
    void connectionRejected(@Nullable SocketAddress remote);

    /**
     * A request, or what was to become one, was refused where it was decoded; no exchange will tell of it. A violation of HTTP/2 is told
     * as {@link Reason#BAD_REQUEST}, without a method.
     *
     * @param method null where it was not understood
     * @param target the request's target as it came, of any length and content; null where it was not understood
     * @param remote who is connected
     * @param nanos time that was spent waiting for it; 0 where none was
     */
    void refused(
            Reason reason,
            @Nullable String method,
            @Nullable String target,
            @Nullable SocketAddress remote,
            long nanos);
}
