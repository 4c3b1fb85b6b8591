package io.weir.instance;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Decides when an instance that loses by its latency gets a call, so that the estimate of its latency does
 * not rest on an old answer.
 *
 * <p>The first such call follows after {@value #SHORTEST} calls that went to another instance. If it shows
 * that the instance is still slow, the next one follows after twice as many, up to {@value #LONGEST}: less
 * than half a percent of the calls go to an instance that is slow all the time. An answer in less than a
 * quarter of the estimate ends the doubling. Counting calls and not time keeps this share the same at any
 * usual traffic.
 *
 * <p>Where calls are rare, {@value #MILLIS_PER_LOSS} ms stand for a lost call: at two calls a second, one
 * late answer would otherwise cost an instance its calls for many seconds. Of these few calls, a larger share
 * goes to an instance that is slow all the time; the doubling bounds it.
 *
 * <p>Finagle and Linkerd have no such rule: there, only the decay of the estimate returns the calls.
 */
// Concurrency: `losses` is claimed by CAS, so one call explores at a time. `interval`, `isUnderWay` and
// `knownAt` are written by the outcome of a call; benign: two outcomes at once may double the interval once
// or twice, and of two moments that hardly differ, either may stay.
final class Exploration {

    private static final int SHORTEST = 8;
    private static final int LONGEST = 256;
    /** The time since the last answer, failure or exploration that counts as one lost call. */
    private static final int MILLIS_PER_LOSS = 375;

    /** An answer that is so many times as fast as the estimate shows that the estimate no longer holds. */
    private static final int FASTER_TIMES = 4;

    private final AtomicInteger losses = new AtomicInteger();
    private volatile int interval = SHORTEST;
    private volatile boolean isUnderWay;
    /** The moment of the last answer, failure or exploration. */
    private volatile long knownAt;

    /** Counts a call that went to another instance, and returns whether this call explores instead. */
    boolean isDue(long now) {
        int lost = losses.incrementAndGet();
        int wanted = interval;
        boolean isDue = lost >= wanted || now - knownAt >= wanted * TimeUnit.MILLISECONDS.toNanos(MILLIS_PER_LOSS);
        if (!isDue || !losses.compareAndSet(lost, 0)) {
            return false;
        }
        knownAt = now;
        isUnderWay = true;
        return true;
    }

    /**
     * A call was answered.
     *
     * @param estimateNanos the latency of the instance as it was known before
     */
    void answered(long latencyNanos, long estimateNanos, long now) {
        knownAt = now;
        if (latencyNanos < estimateNanos / FASTER_TIMES) {
            isUnderWay = false;
            interval = SHORTEST;
        } else {
            lengthen();
        }
    }

    /** A call got no good answer. */
    void failed(long now) {
        knownAt = now;
        lengthen();
    }

    private void lengthen() {
        if (isUnderWay) {
            isUnderWay = false;
            interval = Math.min(LONGEST, 2 * interval);
        }
    }
}
