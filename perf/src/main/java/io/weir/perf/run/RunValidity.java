package io.weir.perf.run;

import io.weir.perf.result.ResultWriter;
import io.weir.perf.result.RunResult;
import io.weir.perf.result.RunResult.Assertion;
import io.weir.perf.result.RunResult.Fact;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;

/**
 * The failed assertions of a run, and the reasons why it is not a valid result. The raw files say from the
 * start that the run is not complete, so that the rest of a killed run does not look valid.
 */
final class RunValidity {

    private static final String NOT_COMPLETED = "the run was not completed";

    private final ResultWriter results;
    private final List<String> failures = new ArrayList<>();
    private final List<String> reasons = new ArrayList<>();
    private boolean completed;

    RunValidity(ResultWriter results) {
        this.results = results;
        write(NOT_COMPLETED);
        results.writeProperties();
    }

    void add(Assertion assertion) {
        results.add(assertion);
        if (!assertion.holds()) {
            String load = assertion.run().isEmpty() ? "" : assertion.run() + ": ";
            failures.add(load + assertion.assertion() + " (measured: " + assertion.actual() + ")");
        }
    }

    void invalidate(String reason) {
        reasons.add(reason);
    }

    List<String> failures() {
        return List.copyOf(failures);
    }

    List<String> reasons() {
        return List.copyOf(reasons);
    }

    /** Checks the load generator by its busy cores in its busiest step; empty: unknown. */
    void checkGenerator(String load, GatlingLoad.Result result, OptionalDouble busyCores, int cores) {
        if (result.missing() > 0) {
            invalidate(load + ": the generator sent " + result.missing() + " requests fewer than planned, and "
                    + result.requests().size() + " in all");
        }
        if (busyCores.isEmpty()) {
            invalidate(load + ": no sample of the generator, so it is unknown whether it was saturated");
        } else {
            double busy = 100 * busyCores.getAsDouble() / cores;
            results.add(new Fact("generator." + load + ".busy", busy, "% of its " + cores + ", in its busiest step"));
            if (busy > RunResult.MAX_GENERATOR_BUSY_PERCENT) {
                invalidate(("%s: the generator was saturated, %.0f %% of its %d cores were busy in a step"
                                + " (expected: at most 80 %%)")
                        .formatted(load, busy, cores));
            }
        }
        double delay = result.delayMillis();
        if (Double.isNaN(delay)) {
            invalidate(load + ": no wake-up of the generator was recorded, so it is unknown whether it was late");
        } else {
            results.add(new Fact("generator." + load + ".delay.p99", delay, "ms"));
            if (delay > RunResult.MAX_GENERATOR_DELAY_MILLIS) {
                invalidate("%s: the generator was late, p99 %.0f ms (expected: at most 50 ms)".formatted(load, delay));
            }
        }
    }

    void complete() {
        completed = true;
    }

    void write(boolean stopped) {
        if (!completed || stopped) {
            reasons.addFirst(NOT_COMPLETED);
        }
        write(String.join("; ", reasons));
    }

    private void write(String reason) {
        results.property("valid", reason.isEmpty());
        results.property("invalid.why", reason);
    }
}
