package io.weir.perf.run;

import java.time.Duration;

/**
 * Prints the progress of an experiment: on a terminal a line that is overwritten, elsewhere one every 15 s.
 */
final class Progress {

    private static final long INTERVAL_SECONDS = 15;

    private final String experiment;
    private final Duration following;
    private final boolean terminal = Boolean.getBoolean("weir.terminal");
    private final long startNanos = System.nanoTime();
    private long endNanos;
    private String activity = "starts";
    private long printedAtSeconds = Long.MIN_VALUE;

    /** {@code following} is the estimated duration of the experiments after this one. */
    Progress(String experiment, Duration estimate, Duration following) {
        this.experiment = experiment;
        this.following = following;
        this.endNanos = startNanos + estimate.toNanos();
    }

    void activity(String text) {
        activity = text;
        printedAtSeconds = Long.MIN_VALUE;
        tick();
    }

    void atLeast(Duration remaining) {
        endNanos = Math.max(endNanos, System.nanoTime() + remaining.toNanos());
    }

    void tick() {
        long elapsed = (System.nanoTime() - startNanos) / 1_000_000_000;
        if (printedAtSeconds != Long.MIN_VALUE && elapsed - printedAtSeconds < (terminal ? 1 : INTERVAL_SECONDS)) {
            return;
        }
        printedAtSeconds = elapsed;
        long left = Math.max(0, (endNanos - System.nanoTime()) / 1_000_000_000) + following.toSeconds();
        String time = left >= 90 ? Math.round(left / 60.0) + " min" : left + " s";
        String line = "%-12s %s; about %s left".formatted(experiment, activity, time);
        System.out.print(terminal ? "\r\033[K" + line : line + System.lineSeparator());
        System.out.flush();
    }

    void clear() {
        if (terminal) {
            System.out.print("\r\033[K");
            System.out.flush();
        }
    }
}
