package io.weir.perf.run;

import java.time.Duration;
import java.util.Locale;

/**
 * Prints the progress of an experiment: on a terminal a line that is overwritten, elsewhere one every 15 s.
 */
final class Progress {

    private static final long INTERVAL_SECONDS = 15;

    private final String experiment;
    private final Experiment.Estimate estimate;
    private final Duration following;
    private final boolean terminal = Boolean.getBoolean("weir.terminal");
    private final long startNanos = System.nanoTime();
    private long earliestEndNanos = startNanos;
    private int step = 1;
    private String activity = "starts";
    private long printedAtSeconds = Long.MIN_VALUE;

    /**
     * Progress of one experiment; {@code following} is the estimated duration of the experiments after it.
     */
    Progress(String experiment, Experiment.Estimate estimate, Duration following) {
        this.experiment = experiment;
        this.estimate = estimate;
        this.following = following;
    }

    void step(int number, String label) {
        step = number;
        activity(label);
    }

    void activity(String text) {
        activity = text;
        printedAtSeconds = Long.MIN_VALUE;
        tick();
    }

    /** The experiment takes at least that much longer. */
    void atLeast(Duration remaining) {
        earliestEndNanos = System.nanoTime() + remaining.toNanos();
    }

    void tick() {
        long elapsed = (System.nanoTime() - startNanos) / 1_000_000_000;
        if (printedAtSeconds != Long.MIN_VALUE && elapsed - printedAtSeconds < (terminal ? 1 : INTERVAL_SECONDS)) {
            return;
        }
        printedAtSeconds = elapsed;
        long remaining = Math.max(
                Math.max(0, estimate.duration().toSeconds() - elapsed),
                (earliestEndNanos - System.nanoTime()) / 1_000_000_000);
        String line = String.format(
                Locale.ROOT,
                "%-12s step %d of %d, %s; %s left",
                experiment,
                step,
                estimate.steps(),
                activity,
                text(remaining + following.toSeconds()));
        System.out.print(terminal ? "\r\033[K" + line : line + System.lineSeparator());
        System.out.flush();
    }

    private static String text(long seconds) {
        return seconds >= 90 ? "about " + Math.round(seconds / 60.0) + " min" : "about " + seconds + " s";
    }

    void clear() {
        if (terminal) {
            System.out.print("\r\033[K");
            System.out.flush();
        }
    }
}
