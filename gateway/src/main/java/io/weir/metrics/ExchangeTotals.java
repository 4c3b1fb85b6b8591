package io.weir.metrics;

import io.weir.engine.ExchangeOutcomes;
import io.weir.limit.LogBuckets;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The exchanges with one backend since the start: a count by outcome, and a histogram of their durations. A
 * reader computes the figures of a window from the difference of two readings.
 *
 * <p>The durations of shed exchanges are left out, since they say nothing about the backend.
 */
// Concurrency: event loops count in stripes, so that they do not contend for a cache line; readers take no
// lock. A reader may see an exchange's outcome before its duration.
public final class ExchangeTotals {

    private static final int MAX_STRIPES = 16;
    private static final int OUTCOMES = ExchangeOutcomes.words().size();
    /** The next multiple of a cache line, so that outcomes and durations share no cache line. */
    private static final int FIRST_BUCKET = (OUTCOMES + 15) / 8 * 8;

    private final AtomicLongArray[] stripes;

    /** Totals of zero. */
    ExchangeTotals() {
        int cores = Math.min(MAX_STRIPES, Runtime.getRuntime().availableProcessors());
        this.stripes = new AtomicLongArray[Integer.highestOneBit(2 * cores - 1)];
        Arrays.setAll(stripes, i -> new AtomicLongArray(FIRST_BUCKET + LogBuckets.COUNT));
    }

    /**
     * Counts an exchange that has ended.
     *
     * @param outcome index in {@link ExchangeOutcomes#words()}
     */
    void count(int outcome, long totalNanos) {
        AtomicLongArray stripe = stripes[(int) Thread.currentThread().threadId() & (stripes.length - 1)];
        stripe.getAndIncrement(outcome);
        if (ExchangeOutcomes.kind(outcome) != ExchangeOutcomes.Kind.SHED) {
            stripe.getAndIncrement(FIRST_BUCKET + LogBuckets.index(totalNanos));
        }
    }

    /**
     * Reads the number of exchanges by outcome.
     *
     * @param target in the order of {@link ExchangeOutcomes#words()}; overwritten
     */
    public void readOutcomes(long[] target) {
        Arrays.setAll(target, this::sum);
    }

    /**
     * Reads the number of exchanges by duration.
     *
     * @param target one element for each of {@link LogBuckets}; overwritten
     */
    public void readDurations(long[] target) {
        Arrays.setAll(target, i -> sum(FIRST_BUCKET + i));
    }

    private long sum(int index) {
        long sum = 0;
        for (AtomicLongArray stripe : stripes) {
            sum += stripe.get(index);
        }
        return sum;
    }
}
