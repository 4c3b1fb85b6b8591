package io.weir.metrics;

import io.weir.engine.ExchangeOutcomes;
import io.weir.limit.LogBuckets;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * What the exchanges with a backend came to since the start, for who computes figures of a window from it: how many
 * ended in which outcome, and how long those took that were not shed, whose time says nothing of the backend.
 */
// Concurrency: counted on event loops, in stripes, so that they do not contend for a cache line; read without a lock. A
// reader may see an exchange's outcome and not yet its time.
public final class Tally {

    private static final int MAX_STRIPES = 16;
    private static final int OUTCOMES = ExchangeOutcomes.words().size();
    /** On cache lines of their own. */
    private static final int FIRST_BUCKET = (OUTCOMES + 15) / 8 * 8;

    private final AtomicLongArray[] stripes;

    /** Nothing yet. */
    Tally() {
        int cores = Math.min(MAX_STRIPES, Runtime.getRuntime().availableProcessors());
        this.stripes = new AtomicLongArray[Integer.highestOneBit(2 * cores - 1)];
        Arrays.setAll(stripes, i -> new AtomicLongArray(FIRST_BUCKET + LogBuckets.COUNT));
    }

    /** An exchange ended in the outcome that stands there among {@link ExchangeOutcomes#words()}, after this time. */
    void count(int outcome, long totalNanos) {
        AtomicLongArray stripe = stripes[(int) Thread.currentThread().threadId() & (stripes.length - 1)];
        stripe.getAndIncrement(outcome);
        if (ExchangeOutcomes.kind(outcome) != ExchangeOutcomes.Kind.SHED) {
            stripe.getAndIncrement(FIRST_BUCKET + LogBuckets.index(totalNanos));
        }
    }

    /**
     * How many ended in which outcome.
     *
     * @param into as {@link ExchangeOutcomes#words()}; overwritten
     */
    public void outcomes(long[] into) {
        Arrays.setAll(into, this::sum);
    }

    /**
     * How many took which time.
     *
     * @param into by {@link LogBuckets}; overwritten
     */
    public void times(long[] into) {
        Arrays.setAll(into, i -> sum(FIRST_BUCKET + i));
    }

    private long sum(int index) {
        long sum = 0;
        for (AtomicLongArray stripe : stripes) {
            sum += stripe.get(index);
        }
        return sum;
    }
}
