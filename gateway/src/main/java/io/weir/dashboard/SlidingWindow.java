package io.weir.dashboard;

import java.util.Arrays;
import java.util.function.IntPredicate;

/**
 * The increase of a set of counters over the last {@value #SECONDS} seconds. The counters only grow.
 *
 * <p>Each second is stored as pairs of a counter's index and its increase, without zeros, since in one second
 * a backend uses few of the hundreds of buckets. Not thread-safe: for the feed's thread.
 */
final class SlidingWindow {

    static final int SECONDS = 10;

    private final int[][] seconds = new int[SECONDS][];
    private final long[] before;
    private final long[] sum;
    private int next;
    private long lastSecond;

    /**
     * An empty window.
     *
     * @param totals the present values of the counters
     */
    SlidingWindow(long[] totals) {
        this.before = totals.clone();
        this.sum = new long[totals.length];
        Arrays.fill(seconds, new int[0]);
    }

    /**
     * Adds a second, and removes the oldest one.
     *
     * @param totals the present values of the counters
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
        lastSecond = 0;
        for (int i = 0, pair = 0; pair < second.length; i++) {
            if (totals[i] != before[i]) {
                int increase = (int) (totals[i] - before[i]);
                second[pair] = i;
                second[pair + 1] = increase;
                pair += 2;
                sum[i] += increase;
                lastSecond += increase;
                before[i] = totals[i];
            }
        }
        seconds[next] = second;
        next = (next + 1) % SECONDS;
    }

    /** The increase of each counter within the window; callers must not change the array. */
    long[] sum() {
        return sum;
    }

    /** The increase of all counters together in the last second. */
    long lastSecond() {
        return lastSecond;
    }

    /** The increase in the last second of the counters with a matching index. */
    long lastSecond(IntPredicate index) {
        int[] last = seconds[(next + SECONDS - 1) % SECONDS];
        long count = 0;
        for (int i = 0; i < last.length; i += 2) {
            if (index.test(last[i])) {
                count += last[i + 1];
            }
        }
        return count;
    }
}
