package io.weir.limit;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The permits that calls without an answer hold until it is known that they hang or poll. They serve no call,
 * and a limit that is learnt from answers does not contain them. The number is their mean over the last
 * second, and two standard deviations, since such calls come in clusters. It is at most the number of the
 * calls that have been left behind since it was last 0: one call never counts as more than one permit.
 */
// Concurrency: `lost` is one atomic of an immutable record. `permits` is written after it. Benign: of two
// threads at the same time, the one with the earlier record may write last, until the next call.
final class LostPermits {

    /** The time over which the mean is taken. */
    private static final double MEMORY_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Fewer are a single call some seconds ago. */
    private static final double LEAST = .05;
    /** The standard deviation of a number of random arrivals is the root of their mean. */
    private static final int DEVIATIONS = 2;

    private final AtomicReference<Lost> lost = new AtomicReference<>(new Lost(0, 0, 0));
    private volatile int permits;

    /**
     * The mean at a moment.
     *
     * @param calls the calls since the number was last 0
     */
    private record Lost(double permits, int calls, long at) {

        double after(long now) {
            return permits * Math.exp(-Math.max(0, now - at) / MEMORY_NANOS);
        }
    }

    /** A limit and the present number, unless that exceeds the largest limit. */
    int addTo(int limit, int largest) {
        return Math.max(limit, Math.min(limit + permits, largest));
    }

    /** The permits in use without the present number; at least 1. */
    int without(int inUse) {
        return Math.max(1, inUse - permits);
    }

    /**
     * A call that the backend leaves behind has given its permit back.
     *
     * @return whether the number has changed
     */
    boolean add(long heldNanos, long now) {
        double share = Math.min(1, heldNanos / MEMORY_NANOS);
        Lost next = lost.updateAndGet(before -> with(before, share, now));
        return hasChangedTo(next.permits, next.calls);
    }

    private static Lost with(Lost before, double share, long now) {
        double present = before.after(now);
        int calls = present < LEAST ? 1 : Math.min(before.calls, Integer.MAX_VALUE - 1) + 1;
        return new Lost(present + share, calls, now);
    }

    /** Whether the number has changed with the time. */
    boolean hasFaded(long now) {
        if (permits == 0) {
            return false;
        }
        Lost present = lost.get();
        return hasChangedTo(present.after(now), present.calls);
    }

    private boolean hasChangedTo(double present, int calls) {
        double most = present + DEVIATIONS * Math.sqrt(present);
        int rounded = present < LEAST ? 0 : (int) Math.min(calls, Math.round(most));
        boolean isOther = rounded != permits;
        permits = rounded;
        return isOther;
    }
}
