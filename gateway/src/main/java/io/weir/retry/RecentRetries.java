package io.weir.retry;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The retries that callers have lately had from a backend's budget: a count for each caller, which is
 * halved every second. A caller is forgotten half a minute after its last retry. There are {@value #COUNTS}
 * counts: callers whose hashes lead to the same count are one caller.
 */
// Concurrency: an increment that meets the halving may be lost; benign.
final class RecentRetries {

    /** A retry of this moment; it is forgotten after thirty halvings. */
    private static final long ONE = 1L << 30;

    private static final int COUNTS = 128;
    private static final int HASH_BITS = 7;
    private static final int MAX_HALVINGS = 62;
    private static final long HALVING_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** 2^32 divided by the golden ratio: spreads neighbouring addresses (Knuth, volume 3, section 6.4). */
    private static final int SPREAD = 0x9E3779B9;

    private final AtomicLongArray counts = new AtomicLongArray(COUNTS);
    private final AtomicLong halvedAt;

    RecentRetries(long nowNanos) {
        halvedAt = new AtomicLong(nowNanos);
    }

    /**
     * Whether the caller's count is above the mean of all callers that are not forgotten. The only caller is
     * never above it.
     */
    boolean isAboveMean(int caller, long nowNanos) {
        halve(nowNanos);
        long total = 0;
        int callers = 0;
        for (int i = 0; i < COUNTS; i++) {
            long count = counts.get(i);
            total += count;
            callers += count > 0 ? 1 : 0;
        }
        return counts.get(index(caller)) * callers > total;
    }

    /** The caller got a retry. */
    void allowed(int caller) {
        counts.getAndAdd(index(caller), ONE);
    }

    /** The caller has not made a retry that was allowed. */
    void givenBack(int caller) {
        counts.accumulateAndGet(index(caller), ONE, (count, one) -> Math.max(0, count - one));
    }

    /** The caller needed a retry, and got none. */
    void denied(int caller) {
        counts.accumulateAndGet(index(caller), ONE, Math::max);
    }

    private void halve(long nowNanos) {
        long before = halvedAt.get();
        long halvings = (nowNanos - before) / HALVING_NANOS;
        if (halvings > 0 && halvedAt.compareAndSet(before, before + halvings * HALVING_NANOS)) {
            for (int i = 0; i < COUNTS; i++) {
                counts.set(i, counts.get(i) >> Math.min(halvings, MAX_HALVINGS));
            }
        }
    }

    private static int index(int caller) {
        return (caller * SPREAD) >>> (Integer.SIZE - HASH_BITS);
    }
}
