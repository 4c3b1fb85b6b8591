package io.weir.edge;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The frames without a use of their own that a caller may send on an HTTP/2 connection: resets, pings,
 * settings, window updates, priorities, continuations, empty bodies. The caller earns such frames by
 * transferred bytes and by time. A caller that has used them up floods the connection.
 *
 * <p>Algorithm: a token bucket that is full of {@value #INITIAL} frames at first and of {@value #MAX} at
 * most. A response's head and a DATA frame of either direction add {@value #PER_FRAME} frames each, and each
 * KiB of DATA adds one more: gRPC's libraries ping once per round trip of a transfer, and other clients
 * update two windows per 4 KiB. Each second adds as many frames as the connection may have streams, so a
 * caller whose calls last a second or longer can reset every call.
 *
 * <p>Why not Netty's limits of 200 resets in 30 s: they also count the resets of a proxy whose callers time
 * out while a backend hangs, and the gateway's own resets of broken answers. Then they end all streams of the
 * connection.
 *
 * <p>Concurrency: confined to the connection's event loop.
 */
final class Http2FrameBudget {

    static final int INITIAL = 500;
    static final int MAX = 10_000;
    static final int PER_FRAME = 4;

    /** The price of a violation that the gateway answers with a reset. */
    static final int VIOLATION = 3;

    private static final int BYTES_PER_FRAME = 1024;

    private final int framesPerSecond;
    private final LongSupplier nanoClock;
    private long frames = INITIAL;
    private long refilledAtNanos;

    /**
     * A budget that is full of {@value #INITIAL} frames.
     *
     * @param maxStreams the connection's limit of concurrent streams
     */
    Http2FrameBudget(int maxStreams, LongSupplier nanoClock) {
        this.framesPerSecond = maxStreams;
        this.nanoClock = nanoClock;
        this.refilledAtNanos = nanoClock.getAsLong();
    }

    /** Adds the frames that a response's head or a DATA frame with this many bytes earns. */
    void earn(int bytes) {
        frames = Math.min(MAX, frames + PER_FRAME + bytes / BYTES_PER_FRAME);
    }

    /** Uses frames; returns whether the caller had as many. */
    boolean spend(int price) {
        if (frames < price) {
            // The time is read only here.
            refill();
        }
        frames -= price;
        return frames >= 0;
    }

    private void refill() {
        long now = nanoClock.getAsLong();
        long earned = (long) ((double) (now - refilledAtNanos) * framesPerSecond / TimeUnit.SECONDS.toNanos(1));
        if (earned > 0) {
            frames = Math.min(MAX, frames + earned);
            refilledAtNanos = now;
        }
    }
}
