package io.weir.limit;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;

/**
 * The usual time that the calls of one route take in their backend: the median of the recent calls. It is
 * unknown until {@value #MIN_SAMPLES} calls are recorded, and is forgotten after a minute without a call.
 *
 * <p>The median and not the mean, because a few slow calls must not change the usual time. The samples are
 * counted in a histogram of {@link LogBuckets}. Every ten seconds all counts are halved, so that the median
 * follows a backend that has become slower or faster. Fewer than {@value #MIN_AGED} samples are not halved:
 * at low traffic, single calls must not determine the median.
 */
// Concurrency: thread-safe, without locks and without an allocation per sample. A sample is one addition. The
// median is computed again by the thread that moves `medianDueAt` forward, at most once in 100 ms after the
// first MIN_AGED samples; so the memory and the work are bounded. Benign: a sample that is recorded while
// another thread halves or clears the counts may be lost, and a median may miss the samples of the last 100
// ms.
public final class UsualTime {

    /** The smallest number of samples from which the time is known. */
    static final int MIN_SAMPLES = 5;

    /** The smallest number of samples that is halved. */
    static final int MIN_AGED = 32;

    private static final long MEDIAN_PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long HALVING_PERIOD_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long FORGOTTEN_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final AtomicLongFieldUpdater<UsualTime> LAST_SAMPLE_AT =
            AtomicLongFieldUpdater.newUpdater(UsualTime.class, "lastSampleAt");
    private static final AtomicLongFieldUpdater<UsualTime> MEDIAN_DUE_AT =
            AtomicLongFieldUpdater.newUpdater(UsualTime.class, "medianDueAt");

    private final AtomicIntegerArray counts = new AtomicIntegerArray(LogBuckets.COUNT);
    private volatile long lastSampleAt;
    private volatile long medianDueAt;
    private volatile long halvingDueAt;
    private volatile long medianNanos;

    private volatile boolean hasSamples;

    /**
     * Records a call that the backend has answered.
     *
     * @param backendNanos the time for which the gateway waited only for the backend
     * @param now the current time
     */
    public void record(long backendNanos, long now) {
        long last = lastSampleAt;
        if (!hasSamples || now - last > FORGOTTEN_NANOS) {
            if (LAST_SAMPLE_AT.compareAndSet(this, last, now)) {
                clear(now);
                hasSamples = true;
            }
        } else if (now - last > MEDIAN_PERIOD_NANOS) {
            // Not for each sample: the threads would contend for the field.
            lastSampleAt = now;
        }
        counts.getAndIncrement(LogBuckets.index(backendNanos));
        long due = medianDueAt;
        if (now - due >= 0 && MEDIAN_DUE_AT.compareAndSet(this, due, now + MEDIAN_PERIOD_NANOS)) {
            computeMedian(now);
        }
    }

    /** The usual time in nanoseconds; 0 while it is unknown. */
    public long nanos(long now) {
        return now - lastSampleAt > FORGOTTEN_NANOS ? 0 : medianNanos;
    }

    private void clear(long now) {
        medianNanos = 0;
        for (int i = 0; i < LogBuckets.COUNT; i++) {
            counts.set(i, 0);
        }
        halvingDueAt = now + HALVING_PERIOD_NANOS;
        medianDueAt = now;
    }

    private void computeMedian(long now) {
        int all = 0;
        for (int i = 0; i < LogBuckets.COUNT; i++) {
            all += counts.get(i);
        }
        medianNanos = all < MIN_SAMPLES ? 0 : median(all);
        if (all < MIN_AGED) {
            // The next sample can still change the median much.
            medianDueAt = now;
        } else if (now - halvingDueAt >= 0) {
            halvingDueAt = now + HALVING_PERIOD_NANOS;
            halve();
        }
    }

    private long median(int all) {
        int rank = (all + 1) / 2;
        for (int i = 0; i < LogBuckets.COUNT; i++) {
            rank -= counts.get(i);
            if (rank <= 0) {
                return LogBuckets.nanos(i);
            }
        }
        // Another thread has cleared the counts meanwhile.
        return 0;
    }

    private void halve() {
        for (int i = 0; i < LogBuckets.COUNT; i++) {
            int count = counts.get(i);
            if (count > 0) {
                // A count that another thread changes meanwhile is halved the next time; none gets negative.
                counts.compareAndSet(i, count, count / 2);
            }
        }
    }
}
