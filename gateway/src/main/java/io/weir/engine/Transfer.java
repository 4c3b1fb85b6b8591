package io.weir.engine;

import io.netty.buffer.ByteBuf;
import org.reactivestreams.Publisher;

/**
 * The transfer of an attempt's request and answer. Called on the exchange's event loop unless stated
 * otherwise.
 */
interface Transfer {

    /** Acquires a connection and sends the request. */
    void start();

    /**
     * Aggregates the answer's body; {@link Attempt#aggregated} follows.
     *
     * @param maxBytes further bytes are dropped, or are a failure
     */
    default void aggregate(int maxBytes, boolean failsIfLarger) {
        throw new IllegalStateException("no answer has begun");
    }

    /** The answer's body as it arrives; {@link Attempt#complete} follows. */
    default Publisher<ByteBuf> relay() {
        throw new IllegalStateException("no answer has begun");
    }

    /**
     * Cancels the transfer in any state: no further event follows. The connection is closed unless it is
     * reusable.
     */
    void cancel();

    /** Whether a connection is established, so that the backend may have received a part of the request. */
    boolean isConnected();

    /**
     * Prevents the request from being sent, if nothing of it has been sent. The connection may be established
     * concurrently on its own event loop.
     *
     * @return whether the backend has received nothing of the request, and will receive nothing
     */
    boolean withdraw();

    /** Time, up to now, that the caller needed to send its body and to read the answer. */
    long callerNanos(long now);

    /** Whether the gateway waits for more of the request's body. */
    boolean isWaitingForUpload();

    /** The last moment at which bytes moved in either direction; {@link Long#MIN_VALUE}: never. */
    long lastMovedNanos();

    /** Bytes received of the answer's body. */
    long answerBytes();

    /** Whether the caller holds up the answer. */
    boolean isHeldUpByCaller();
}
