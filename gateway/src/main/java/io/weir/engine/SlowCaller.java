package io.weir.engine;

import io.weir.limit.QueueingBulkhead;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * A call that its caller holds up, from the first such moment until its end: the bytes that wait for the
 * caller, and the rate at which the caller moves bytes.
 */
// Concurrency: the event loop of the exchange writes; those that choose callers read the volatile fields.
final class SlowCaller {

    /** The shortest time over which a rate is measured. */
    static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    /** The rate of a caller that does not hold up its call, or not for long enough. */
    private static final double UNKNOWN = Double.POSITIVE_INFINITY;

    private static final AtomicIntegerFieldUpdater<SlowCaller> CHOSEN =
            AtomicIntegerFieldUpdater.newUpdater(SlowCaller.class, "chosen");

    private final Exchange exchange;
    private final SlowCallers all;
    private long movedBytes;
    private long lookedAt;
    private boolean wasBehind;
    private volatile double bytesPerSecond = UNKNOWN;
    private volatile long unreadBytes;
    private volatile @Nullable QueueingBulkhead streams;
    private volatile int chosen;

    SlowCaller(Exchange exchange, SlowCallers all) {
        this.exchange = exchange;
        this.all = all;
        all.add(this);
    }

    /** The call holds a permit of these streams from now on; null: of none any more. */
    void movedTo(@Nullable QueueingBulkhead compartment) {
        streams = compartment;
    }

    /**
     * Records the caller's progress.
     *
     * @param isBehind whether the caller holds up the call
     * @param unread bytes of the answer that wait for the caller
     * @param moved all bytes that the caller has sent and read so far
     */
    void look(boolean isBehind, long unread, long moved, long now) {
        if (!isBehind || !wasBehind) {
            bytesPerSecond = UNKNOWN;
            movedBytes = moved;
            lookedAt = now;
        } else if (now - lookedAt >= LOOK_NANOS) {
            // The pending bytes include those of the protocol, so the difference may be negative.
            double latest = Math.max(0, moved - movedBytes) * 1e9 / (now - lookedAt);
            bytesPerSecond = bytesPerSecond == UNKNOWN ? latest : (bytesPerSecond + latest) / 2;
            movedBytes = moved;
            lookedAt = now;
        }
        wasBehind = isBehind;
        count(unread);
    }

    private void count(long unread) {
        long difference = unread - unreadBytes;
        unreadBytes = unread;
        if (difference != 0) {
            all.count(difference);
        }
    }

    /** Forgets the call, which has ended. */
    void end() {
        all.remove(this);
        count(0);
    }

    // ---------------------------------------------------------------- from any thread

    /** Bytes of the answer that wait for the caller. */
    long unreadBytes() {
        return unreadBytes;
    }

    /** The rate at which the caller moves bytes; infinite if it is not known. */
    double bytesPerSecond() {
        return bytesPerSecond;
    }

    /** Whether the call holds a permit of these streams, because its caller has held it up. */
    boolean holds(QueueingBulkhead compartment) {
        return streams == compartment;
    }

    /** Whether the call is chosen to end. */
    boolean isChosen() {
        return chosen != 0;
    }

    /**
     * Ends the call, since others need what it holds. False: another thread has done that, or the event loop
     * has stopped.
     *
     * @param needed the streams of which others need a permit; null: they need memory
     */
    boolean choose(String why, @Nullable QueueingBulkhead needed) {
        if (!CHOSEN.compareAndSet(this, 0, 1)) {
            return false;
        }
        try {
            exchange.loop().execute(() -> {
                if (needed == null || holds(needed)) {
                    exchange.endTooSlow(why);
                } else {
                    // It has given the permit back meanwhile.
                    chosen = 0;
                }
            });
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }
}
