package io.weir.edge;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http2.Http2Headers;
import io.weir.outcome.Refusal;
import org.jspecify.annotations.Nullable;

/**
 * The gateway's protection of its event loops, as far as the edge enforces it: requests are refused at their
 * decoded head, and new connections wait. All methods but {@link #isShedding} are called on the event loop
 * that they name, or that of the channel.
 */
public interface EdgeShedding {

    /** Never sheds. */
    EdgeShedding NONE = new EdgeShedding() {
        @Override
        public @Nullable Refusal refusal(Channel connection, HttpHeaders headers) {
            return null;
        }

        @Override
        public @Nullable Refusal refusal(Channel connection, Http2Headers headers) {
            return null;
        }

        @Override
        public boolean isShedding() {
            return false;
        }

        @Override
        public boolean takeTurn(EventLoop loop, Runnable task) {
            return true;
        }

        @Override
        public void leaveTurns(EventLoop loop, Runnable task) {}
    };

    /**
     * The refusal of a request whose head is decoded; null: it is passed on. Called once for each request.
     */
    @Nullable
    Refusal refusal(Channel connection, HttpHeaders headers);

    /** {@link #refusal(Channel, HttpHeaders)} for HTTP/2. */
    @Nullable
    Refusal refusal(Channel connection, Http2Headers headers);

    /** Whether at least one event loop sheds. */
    boolean isShedding();

    /**
     * Whether the event loop may begin a TLS handshake in its current iteration; if not, the task runs in a
     * later one.
     */
    boolean takeTurn(EventLoop loop, Runnable task);

    /** The task of {@link #takeTurn} no longer waits: its connection is closed. */
    void leaveTurns(EventLoop loop, Runnable task);
}
