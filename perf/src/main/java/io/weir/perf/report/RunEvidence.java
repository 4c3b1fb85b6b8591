package io.weir.perf.report;

import io.weir.perf.result.RunFigures;
import io.weir.perf.result.RunResult;
import io.weir.perf.result.RunResult.Step;
import java.util.List;
import java.util.OptionalDouble;
import java.util.TreeSet;

/**
 * What the figures of a run say about a figure that disagrees with its claim: that the load was the limit, or
 * that the processors were. A cause that the run has not measured is not named.
 */
record RunEvidence(RunResult run, RunFigures figures) {

    static final String NONE = "not explained";

    /** From this share of the cores on, the processors may be the limit. */
    private static final double BUSY_PERCENT = 90;

    String of(String figure) {
        OptionalDouble atLeast = figures.get(figure + ".at-least");
        if (atLeast.isPresent()) {
            String busy = ReportPages.number(figures.get(figure.replaceFirst("\\.(rate|of-[^.]+)$", ".busy")));
            return "the load was the limit: at least %s, with %s %% of the cores busy"
                    .formatted(ReportPages.number(atLeast), busy);
        }
        List<Step> own = run.steps().stream().filter(step -> isOf(step, figure)).toList();
        if (!own.isEmpty()) {
            return own.stream()
                    .map(this::busy)
                    .filter(text -> !text.isEmpty())
                    .findFirst()
                    .orElse(NONE);
        }
        // A figure of the whole run: only if every step was like that.
        List<Step> compared = run.steps().stream()
                .filter(step -> !step.label().equals(RunResult.WARM_UP))
                .toList();
        boolean always = !compared.isEmpty()
                && compared.stream().noneMatch(step -> busy(step).isEmpty());
        return always ? "in each step, " + busy(compared.getFirst()) + ", or more" : NONE;
    }

    /** {@code protected.hang.neighbour.success} is a figure of the step {@code protected: hang}. */
    private static boolean isOf(Step step, String figure) {
        String fact = step.name().replace(": ", ".").replace(' ', '-') + '.';
        return figure.startsWith(step.name() + '/') || figure.startsWith(fact);
    }

    /** Whether the processors were busy in a step: all of the host, or all that a process was granted. */
    private String busy(Step step) {
        double all = 0;
        String process = "";
        double most = 0;
        for (String name :
                new TreeSet<>(run.processes().stream().map(one -> one.process()).toList())) {
            double percent = figures.get(step, "cpu-percent/" + name);
            if (Double.isFinite(percent)) {
                all += percent;
                if (percent > most) {
                    most = percent;
                    process = name;
                }
            }
        }
        double host = cores("cpus.host");
        double granted = cores("cpus.granted");
        if (all >= BUSY_PERCENT * host) {
            return "all processors were %.0f %% busy".formatted(all / host);
        }
        if (most >= BUSY_PERCENT * granted) {
            return "%s used %.0f %% of its processors".formatted(process, most / granted);
        }
        return "";
    }

    private double cores(String property) {
        String text = run.property(property);
        return text.matches("[1-9]\\d*") ? Double.parseDouble(text) : Double.POSITIVE_INFINITY;
    }
}
