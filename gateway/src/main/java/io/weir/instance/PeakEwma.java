package io.weir.instance;

import java.util.concurrent.TimeUnit;

/**
 * The usual latency of an instance: an exponentially weighted moving average that follows a rise at once, and
 * a fall within a second. It decays while no call is recorded, so that an instance which was slow is tried
 * again.
 *
 * <p>Source: Finagle's {@code PeakEwma}. An average that follows both directions slowly sends calls into an
 * instance for seconds after it has become slow. The fall is faster than Finagle's (10 s): after a short
 * disturbance of all instances, one that is always slow would look like the others for seconds.
 */
// Concurrency: two threads that record at once may lose one of the two samples; benign. A reader may combine
// the value of one sample with the time of another one; the error is the decay of that time.
final class PeakEwma {

    /** The time in which the average decays to a third without answers. */
    private static final double DECAY_NANOS = TimeUnit.SECONDS.toNanos(10);
    /** The time in which faster answers lower the average by two thirds of the difference. */
    private static final double FALL_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** A faster answer keeps at most this share of the difference, and at least {@link #LEAST_KEPT}. */
    private static final double MOST_KEPT = 0.9;

    private static final double LEAST_KEPT = 0.5;
    /** An old average is replaced by an answer that is so many times as fast. */
    private static final int FASTER_TIMES = 4;

    private volatile double average;
    private volatile long recordedAt;

    /** Records the latency of an answer. */
    void record(long latencyNanos, long now) {
        double before = average;
        if (latencyNanos >= before) {
            average = latencyNanos;
        } else {
            average = latencyNanos + (before - latencyNanos) * kept(latencyNanos, before, now);
        }
        recordedAt = now;
    }

    private double kept(long latencyNanos, double before, long now) {
        long age = now - recordedAt;
        if (age > FALL_NANOS && FASTER_TIMES * latencyNanos < before) {
            return 0;
        }
        return Math.clamp(Math.exp(-Math.max(0, age) / FALL_NANOS), LEAST_KEPT, MOST_KEPT);
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
