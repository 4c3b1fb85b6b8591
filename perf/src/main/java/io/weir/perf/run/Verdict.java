package io.weir.perf.run;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/** What becomes of a run: what had to hold and does not, and why its figures are no result. It stands in the raw files from the start. */
final class Verdict {

    /** A generator that wakes later than this, more than once in a hundred times, measures itself. */
    private static final double LATE_MILLIS = 50;

    /** A generator that is busy for more of its cores' time has none left for bursts. */
    private static final double SATURATED = 0.8;

    private static final String NOT_COMPLETED = "it did not come to its end";

    private final Raw raw;
    private final List<String> failures = new ArrayList<>();
    private final List<String> invalid = new ArrayList<>();
    /** Whether the experiment has come to its end: what was measured before is no result. */
    private boolean completed;

    Verdict(Raw raw) {
        this.raw = raw;
        // So that a run of which nothing else is left does not pass for a result.
        write(NOT_COMPLETED);
        raw.writeProperties();
    }

    /** What has to hold; written down either way. */
    void mustHold(String what, boolean holds, String measured) {
        raw.assertion("", what, holds, measured);
        if (!holds) {
            fail(what + " (measured: " + measured + ")");
        }
    }

    /** What has to hold and does not, and was written down. */
    void fail(String what) {
        failures.add(what);
    }

    /** Why the run is no result. */
    void invalidate(String why) {
        invalid.add(why);
    }

    List<String> failures() {
        return List.copyOf(failures);
    }

    List<String> invalid() {
        return List.copyOf(invalid);
    }

    /**
     * Whether a generator was itself late or saturated.
     *
     * @param busy how many cores it kept busy, where it was busiest; empty: not known
     * @param cores how many it had
     */
    void judge(String run, Gatling.Result result, OptionalDouble busy, int cores) {
        if (result.missing() > 0) {
            invalidate(
                    run + ": the generator has sent " + result.missing() + " requests fewer than it had planned, and "
                            + result.requests().size() + " in all");
        }
        judgeCores(run, busy, cores);
        judgeDelay(run, result.delayMillis());
    }

    private void judgeCores(String run, OptionalDouble busy, int cores) {
        if (busy.isEmpty()) {
            invalidate(
                    run + ": whether the generator itself was saturated is not known, since nothing was sampled of it");
            return;
        }
        raw.fact("generator." + run + ".cores", busy.getAsDouble(), "busy, of " + cores + ", in its busiest step");
        if (busy.getAsDouble() > SATURATED * cores) {
            invalidate(String.format(
                    Locale.ROOT,
                    "%s: the generator itself was saturated, %.1f of its %d cores were busy in a step (expected: at most %.0f %%)",
                    run,
                    busy.getAsDouble(),
                    cores,
                    100 * SATURATED));
        }
    }

    private void judgeDelay(String run, double millis) {
        if (Double.isNaN(millis)) {
            invalidate(
                    run + ": whether the generator itself was late is not known, since it has written down no wake-up");
            return;
        }
        raw.fact("generator." + run + ".delay.p99", millis, "ms");
        if (millis > LATE_MILLIS) {
            invalidate(String.format(
                    Locale.ROOT,
                    "%s: the generator itself was late, by %.0f ms or more once in a hundred times (expected: at most %.0f ms)",
                    run,
                    millis,
                    LATE_MILLIS));
        }
    }

    /** The experiment has come to its end. */
    void completed() {
        completed = true;
    }

    /** Writes down what has become of it. */
    void write(boolean stopped) {
        if (!completed || stopped) {
            invalid.addFirst(NOT_COMPLETED);
        }
        write(String.join("; ", invalid));
    }

    private void write(String why) {
        raw.property("valid", why.isEmpty());
        raw.property("invalid.why", why);
    }
}
