package io.weir.dashboard;

import java.util.Arrays;
import java.util.function.IntPredicate;

/**
 * The difference that counters which only ever grow have made over the last {@value #SECONDS} seconds.
 *
 * <p>A second is kept as the pairs of index and difference that are not zero: of hundreds of buckets a backend fills few
 * in a second. Not thread-safe: for the feed's thread.
 */
final class Window {

    static final int SECONDS = 10;

    private final int[][] seconds = new int[SECONDS][];
    private final long[] before;
    private final long[] sum;
    private int next;
    private long added;

    /**
     * A window in which nothing has happened.
     *
     * @param totals what the counters are now
     */
    Window(long[] totals) {
        this.before = totals.clone();
        this.sum = new long[totals.length];
        Arrays.fill(seconds, new int[0]);
    }

    /**
     * Another second has passed.
     *
     * @param totals what the counters are now
     */
    void add(long[] totals) {
        int[] oldest = seconds[next];
        for (int i = 0; i < oldest.length; i += 2) {
            sum[oldest[i]] -= oldest[i + 1];
        }
        int changed = 0;
        for (int i = 0; i < totals.length; i++) {
            changed += totals[i] == before[i] ? 0 : 1;
        }
        int[] second = new int[2 * changed];
        added = 0;
        for (int i = 0, at = 0; at < second.length; i++) {
            if (totals[i] != before[i]) {
                int difference = (int) (totals[i] - before[i]);
                second[at] = i;
                second[at + 1] = difference;
                at += 2;
                sum[i] += difference;
                added += difference;
                before[i] = totals[i];
            }
        }
        seconds[next] = second;
        next = (next + 1) % SECONDS;
    }

    /** What was counted within the window; not to be written to. */
    long[] sum() {
        return sum;
    }

    /** What was counted in the last second, all together. */
    long added() {
        return added;
    }

    /** What was counted in the last second, of those counters. */
    long added(IntPredicate which) {
        int[] last = seconds[(next + SECONDS - 1) % SECONDS];
        long count = 0;
        for (int i = 0; i < last.length; i += 2) {
            if (which.test(last[i])) {
                count += last[i + 1];
            }
        }
        return count;
    }
}
