package io.weir.health;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The outcomes of an instance's last {@value #CAPACITY} calls, in their order. They tell whether the instance
 * fails alone or like its peers, which the rates of a window cannot: a window reaches back to a time when the
 * instances did not fail.
 *
 * <p>They also tell when the instance <i>cools down</i>: after two failures in a row, the choice prefers
 * other instances until these have answered {@value #FIRST_COOL_DOWN_CALLS} calls well, and after each
 * further failure twice as many, up to {@value #LONGEST_COOL_DOWN_CALLS}. Few callers meet the failures, and
 * the answers of the others are the evidence that the instance fails alone. A good answer, or ten seconds
 * without an outcome, ends the cool-down: an instance that has recovered must get a call that shows it.
 * Counting answers and not time makes the loss the same at any traffic.
 */
// Concurrency: `bits` is the only state that decides: a marker bit, then one bit for each outcome, the last
// outcome lowest, 1 for a failure. Results that arrive at once are recorded in any order. Benign: a reader
// may see `lastAt` of an older outcome.
final class RecentOutcomes {

    /** Outcomes that are kept. */
    static final int CAPACITY = 62;

    private static final long FORGOTTEN_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int FIRST_COOL_DOWN_CALLS = 8;
    private static final int LONGEST_COOL_DOWN_CALLS = 64;
    private static final long LONGEST_COOL_DOWN_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long EMPTY = 1;
    private static final long FULL = 1L << CAPACITY;

    private final AtomicLong bits = new AtomicLong(EMPTY);
    private volatile long lastAt;
    private volatile long failingSince;
    private volatile long answersAtFailure;

    /**
     * Records a good answer, unless its call was sent before the present failures in a row began: after
     * failures, an answer to an earlier call is no new evidence.
     */
    void succeeded(long sentAt, long now) {
        if (failuresInARow() == 0 || sentAt - failingSince >= 0) {
            record(false, now);
        }
    }

    /**
     * Records a failure.
     *
     * @param answers the good answers of all instances of the backend so far
     */
    void failed(long answers, long now) {
        if (failuresInARow() == 0) {
            failingSince = now;
        }
        answersAtFailure = answers;
        record(true, now);
    }

    /**
     * The failures in a row, if the choice prefers other instances for now; else 0.
     *
     * @param answers the good answers of all instances of the backend so far; a number below the one at the
     *     last failure is that of other instances, and ends the cool-down
     */
    int coolDownFailures(long answers, long now) {
        int inARow = failuresInARow();
        if (inARow < 2 || now - lastAt > LONGEST_COOL_DOWN_NANOS) {
            return 0;
        }
        long since = answers - answersAtFailure;
        long enough = Math.min(LONGEST_COOL_DOWN_CALLS, (long) FIRST_COOL_DOWN_CALLS << Math.min(inARow - 2, 8));
        return since >= 0 && since < enough ? inARow : 0;
    }

    private void record(boolean hasFailed, long now) {
        boolean isOutdated = now - lastAt > FORGOTTEN_NANOS;
        lastAt = now;
        while (true) {
            long seen = bits.get();
            long kept = isOutdated ? EMPTY : seen;
            long next = (kept & FULL) == 0 ? kept << 1 : ((kept ^ FULL) << 1 & (FULL - 1)) | FULL;
            if (bits.compareAndSet(seen, hasFailed ? next | 1 : next)) {
                return;
            }
        }
    }

    /** Whether the last outcome came after the failures in a row of another instance began. */
    boolean isSince(RecentOutcomes failing) {
        return lastAt - failing.failingSince >= 0;
    }

    /** Forgets all outcomes. */
    void clear() {
        bits.set(EMPTY);
    }

    /** The outcomes that are known and not outdated, at most the last {@code most}. */
    int calls(int most, long now) {
        if (now - lastAt > FORGOTTEN_NANOS) {
            return 0;
        }
        return Math.min(most, Long.SIZE - 1 - Long.numberOfLeadingZeros(bits.get()));
    }

    /** The failures among the last calls. */
    int failures(int calls) {
        return Long.bitCount(bits.get() & ((1L << calls) - 1));
    }

    /** The failures since the last good answer, at most {@value #CAPACITY}. */
    int failuresInARow() {
        long seen = bits.get();
        int known = Long.SIZE - 1 - Long.numberOfLeadingZeros(seen);
        return Math.min(known, Long.numberOfTrailingZeros(~seen));
    }
}
