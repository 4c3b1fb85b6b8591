package io.weir.perf.run;

import java.io.PrintStream;
import java.time.Duration;
import java.util.Locale;

/** Says how far a run is: the experiment, step i of n, the time left. On a terminal a line that is written over, elsewhere one for each step and every 15 s. */
final class Progress {

    private static final Duration EVERY = Duration.ofSeconds(15);

    private final PrintStream out;
    private final boolean terminal;
    private final String experiment;
    private final int steps;
    private final Duration length;
    private final Duration behind;
    private final long start = System.nanoTime();
    private long leastNanos = start;
    private int step;
    private String label = "starts";
    private long saidAt = Long.MIN_VALUE;

    /**
     * The progress of one experiment.
     *
     * @param length what it takes, about
     * @param behind what comes after it takes, about
     */
    Progress(PrintStream out, boolean terminal, String experiment, int steps, Duration length, Duration behind) {
        this.out = out;
        this.terminal = terminal;
        this.experiment = experiment;
        this.steps = steps;
        this.length = length;
        this.behind = behind;
    }

    void step(int number, String what) {
        step = number;
        label = what;
        saidAt = Long.MIN_VALUE;
        tick();
    }

    /** It takes at least so much more. */
    void atLeast(Duration more) {
        leastNanos = System.nanoTime() + more.toNanos();
    }

    void doing(String what) {
        label = what;
        saidAt = Long.MIN_VALUE;
        tick();
    }

    void tick() {
        long elapsed = (System.nanoTime() - start) / 1_000_000_000;
        if (saidAt != Long.MIN_VALUE && elapsed - saidAt < (terminal ? 1 : EVERY.toSeconds())) {
            return;
        }
        saidAt = elapsed;
        String line = String.format(
                Locale.ROOT,
                "%-12s step %d of %d, %s; %s left",
                experiment,
                Math.max(1, step),
                steps,
                label,
                left(secondsLeft(elapsed) + behind.toSeconds()));
        if (terminal) {
            out.print("\r\033[K" + line);
        } else {
            out.println(line);
        }
        out.flush();
    }

    private long secondsLeft(long elapsed) {
        return Math.max(Math.max(0, length.toSeconds() - elapsed), (leastNanos - System.nanoTime()) / 1_000_000_000);
    }

    static String left(long seconds) {
        return seconds >= 90 ? "about " + Math.round(seconds / 60.0) + " min" : "about " + seconds + " s";
    }

    void clear() {
        if (terminal) {
            out.print("\r\033[K");
            out.flush();
        }
    }
}
