package io.weir.instance;

import java.util.concurrent.TimeUnit;

/**
 * The usual latency of an instance: an exponentially weighted moving average that follows a rise at once, and
 * a fall by a tenth of the difference with each answer. It decays while no call is recorded, so that an
 * instance which was slow is tried again. An average that is old, and much higher than a new answer, has no
 * further effect.
 *
 * <p>Source: Finagle's {@code PeakEwma}. An average that follows both directions slowly sends calls into an
 * instance for seconds after it has become slow. Finagle's average falls in ten seconds, also with answers:
 * then, after a short disturbance of all instances, one that is always slow looks like the others for seconds.
 */
// Concurrency: two threads that record at once may lose one of the two samples; benign. A reader may combine
// the value of one sample with the time of another one; the error is the decay of that time.
final class PeakEwma {

    /** The time in which the average decays to a third without answers. */
    private static final double DECAY_NANOS = TimeUnit.SECONDS.toNanos(10);
    /** The share of the difference that a faster answer keeps. */
    private static final double KEPT = 0.9;
    /** An average without answers for so long is replaced by a much faster answer. */
    private static final long OLD_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    /** An answer that is so many times as fast is much faster. */
    private static final int FASTER_TIMES = 4;

    private volatile double average;
    private volatile long recordedAt;

    /** Records the latency of an answer. */
    void record(long latencyNanos, long now) {
        double before = average;
        if (latencyNanos >= before) {
            average = latencyNanos;
        } else {
            boolean isOutdated = now - recordedAt > OLD_NANOS && FASTER_TIMES * latencyNanos < before;
            average = isOutdated ? latencyNanos : latencyNanos + (before - latencyNanos) * KEPT;
        }
        recordedAt = now;
    }

    /**
     * Records that a call has waited for this time without success. A failure that comes fast does not make
     * its instance a fast one.
     */
    void raise(long waitedNanos, long now) {
        if (waitedNanos > nanos(now)) {
            average = waitedNanos;
            recordedAt = now;
        }
    }

    /** Forgets all latencies. */
    void forget() {
        average = 0;
    }

    /** The usual latency when the last call was recorded; 0: none is. */
    long lastNanos() {
        return (long) average;
    }

    /** The usual latency; 0: no call is recorded. */
    long nanos(long now) {
        double known = average;
        return known == 0 ? 0 : (long) (known * Math.exp(-Math.max(0, now - recordedAt) / DECAY_NANOS)) + 1;
    }
}
