package io.weir.hedge;

import io.weir.limit.LogBuckets;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;

/**
 * The time within which 95 % of a route's recent answers have begun. It is unknown until {@value
 * #MIN_ANSWERS} answers are recorded.
 *
 * <p>A histogram of {@link LogBuckets}. The time is the upper end of a bucket: where most answers take the
 * same time, few are later. Every ten seconds all counts are halved, unless few answers were recorded, so
 * that the time follows a backend that has become slower or faster. An answer counts as several, so that a
 * rare slow one is not halved to nothing at once.
 */
// Concurrency: as in UsualTime. A record is one addition; the thread that moves `dueAt` forward computes the
// time, at most once in 100 ms once enough is recorded. Benign: an answer that is recorded while another
// thread halves the counts may be lost.
final class AnswerTimes {

    /** The smallest number of answers from which the time is known: five of them are slower. */
    static final int MIN_ANSWERS = 100;

    private static final int COUNT_OF_ANSWER = 16;
    private static final long PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long HALVING_PERIOD_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final AtomicLongFieldUpdater<AnswerTimes> DUE_AT =
            AtomicLongFieldUpdater.newUpdater(AnswerTimes.class, "dueAt");

    private final AtomicIntegerArray counts = new AtomicIntegerArray(LogBuckets.COUNT);
    private volatile long dueAt;
    private volatile long halvingDueAt;
    private volatile long p95Nanos;
    private volatile boolean hasAnswers;

    /** Records the time until the head of an answer. */
    void record(long nanos, long now) {
        counts.getAndAdd(LogBuckets.index(nanos), COUNT_OF_ANSWER);
        if (!hasAnswers) {
            hasAnswers = true;
            halvingDueAt = now + HALVING_PERIOD_NANOS;
            dueAt = now;
        }
        long due = dueAt;
        if (now - due >= 0 && DUE_AT.compareAndSet(this, due, now + PERIOD_NANOS)) {
            compute(now);
        }
    }

    /** The time in nanoseconds; 0 while it is unknown. */
    long p95Nanos() {
        return p95Nanos;
    }

    private void compute(long now) {
        long[] seen = new long[LogBuckets.COUNT];
        long all = 0;
        for (int i = 0; i < seen.length; i++) {
            seen[i] = counts.get(i);
            all += seen[i];
        }
        if (all < MIN_ANSWERS * COUNT_OF_ANSWER) {
            // The next answers can make it known.
            dueAt = now;
            return;
        }
        int bucket = LogBuckets.index(LogBuckets.quantile(seen, 95, 100));
        p95Nanos = LogBuckets.nanos(Math.min(bucket + 1, LogBuckets.COUNT - 1));
        if (all >= 2 * MIN_ANSWERS * COUNT_OF_ANSWER && now - halvingDueAt >= 0) {
            halvingDueAt = now + HALVING_PERIOD_NANOS;
            halve();
        }
    }

    private void halve() {
        for (int i = 0; i < LogBuckets.COUNT; i++) {
            int count = counts.get(i);
            if (count > 0) {
                // A count that another thread changes meanwhile is halved the next time.
                counts.compareAndSet(i, count, count / 2);
            }
        }
    }
}
