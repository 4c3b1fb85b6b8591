package io.weir.perf.report;

import java.util.stream.LongStream;

/**
 * The run's time in equal parts: the finest of some round widths that makes no more of them than a plot can show.
 *
 * @param millis how long each is
 * @param count how many there are
 */
record Buckets(int millis, int count) {

    private static final int[] WIDTHS = {250, 500, 1000, 2000, 5000, 10_000, 30_000};
    private static final int MOST = 300;

    static Buckets of(Run run) {
        long end = LongStream.concat(
                        run.steps().stream().mapToLong(Run.Step::ended),
                        run.requests().stream().mapToLong(Run.Request::at))
                .max()
                .orElse(1);
        int width = 60_000;
        for (int i = WIDTHS.length - 1; i >= 0 && end / WIDTHS[i] < MOST; i--) {
            width = WIDTHS[i];
        }
        return new Buckets(width, (int) (end / width) + 1);
    }

    /** Where a moment is. */
    int of(long at) {
        return (int) Math.min(count - 1L, at / millis);
    }

    /** When each begins. */
    double[] seconds() {
        double[] seconds = new double[count];
        for (int i = 0; i < count; i++) {
            seconds[i] = (double) i * millis / 1000;
        }
        return seconds;
    }

    /** When the last one ends. */
    double end() {
        return (double) count * millis;
    }
}
