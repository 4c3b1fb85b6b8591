package io.weir.edge;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The frames without a use of their own that a caller may send on an HTTP/2 connection, and the calls that it
 * may break off. A caller that has used up either of them floods the connection.
 *
 * <p>Algorithm: two token buckets, each full at first. Each second adds as many tokens as the connection may
 * have streams, so a caller whose calls last a second or longer can reset every call.
 *
 * <ul>
 *   <li><b>Frames</b>: pings, settings, window updates, priorities, continuations, empty bodies. {@value
 *       #INITIAL} at first, {@value #MAX} at most. The head and each DATA frame of a response add {@value
 *       #PER_FRAME} frames, and each KiB of a response or of a request's body that its backend has taken adds
 *       one more: gRPC's libraries ping once per round trip of a transfer, and other clients update two
 *       windows per 4 KiB.
 *   <li><b>Resets</b>: calls that the caller resets before their response begins, and calls that the gateway
 *       must reset because the caller violates the protocol. {@value #INITIAL}, or twice the limit of
 *       concurrent streams if that is more. Only a response adds one: a caller can cancel half of its calls,
 *       as callers do that send each call twice. A reset after the head of the response is a frame like any
 *       other: callers end streams so.
 * </ul>
 *
 * <p>DATA frames of a request add nothing when they arrive. Otherwise a body of one byte would pay for the
 * reset of its own stream.
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

    /** The price, in resets, of a violation that the gateway answers with a reset. */
    static final int VIOLATION = 3;

    private static final int BYTES_PER_FRAME = 1024;

    private final Bucket frames;
    private final Bucket resets;
    private int takenBytes;

    /**
     * A budget that is full.
     *
     * @param maxStreams the connection's limit of concurrent streams
     */
    Http2FrameBudget(int maxStreams, LongSupplier nanoClock) {
        int maxResets = Math.max(INITIAL, 2 * maxStreams);
        this.frames = new Bucket(INITIAL, MAX, maxStreams, nanoClock);
        this.resets = new Bucket(maxResets, maxResets, maxStreams, nanoClock);
    }

    /** Adds the frames that a response's head or a DATA frame of a response with this many bytes earns. */
    void earn(int bytes) {
        frames.add(PER_FRAME + bytes / BYTES_PER_FRAME);
    }

    /** Adds the frames for bytes of a request's body that its backend has taken. */
    void taken(int bytes) {
        takenBytes += bytes;
        frames.add(takenBytes / BYTES_PER_FRAME);
        takenBytes %= BYTES_PER_FRAME;
    }

    /** Adds the reset that a response earns. */
    void answered() {
        resets.add(1);
    }

    /** Uses one frame; returns whether the caller had one. */
    boolean spend() {
        return frames.spend(1);
    }

    /** Uses resets; returns whether the caller had as many. */
    boolean spendResets(int price) {
        return resets.spend(price);
    }

    private static final class Bucket {

        private final int max;
        private final int perSecond;
        private final LongSupplier nanoClock;
        private long tokens;
        private long refilledAtNanos;

        Bucket(int initial, int max, int perSecond, LongSupplier nanoClock) {
            this.max = max;
            this.perSecond = perSecond;
            this.nanoClock = nanoClock;
            this.tokens = initial;
            this.refilledAtNanos = nanoClock.getAsLong();
        }

        void add(int earned) {
            tokens = Math.min(max, tokens + earned);
        }

        boolean spend(int price) {
            if (tokens < price) {
                // The time is read only here.
                refill();
            }
            tokens -= price;
            return tokens >= 0;
        }

        private void refill() {
            long now = nanoClock.getAsLong();
            long earned = (long) ((double) (now - refilledAtNanos) * perSecond / TimeUnit.SECONDS.toNanos(1));
            if (earned > 0) {
                tokens = Math.min(max, tokens + earned);
                refilledAtNanos = now;
            }
        }
    }
}
