package io.weir.perf.report;

import io.weir.perf.result.Claim;
import io.weir.perf.result.Request;
import io.weir.perf.result.RunResult;
import io.weir.perf.result.RunResult.Step;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What a sceptical reviewer asks of a run, asserted from its raw files. The report says of no figure that it
 * agrees with its claim if the run misses a line.
 */
record Checklist(List<Line> lines) {

    /** A shorter warm-up measures the compiler of a JVM. */
    private static final double MIN_WARM_UP_SECONDS = 5;

    record Line(String text, boolean met, String measured) {}

    static Checklist of(RunResult run) {
        List<Line> lines = new ArrayList<>();
        Set<String> generators = run.processes().stream()
                .map(sample -> sample.process())
                .filter(RunResult::isGenerator)
                .collect(Collectors.toSet());
        lines.add(new Line(
                "the load comes from outside, from a process of its own",
                !generators.isEmpty(),
                generators.isEmpty() ? "no process of a load generator was sampled" : sorted(generators)));
        String model = run.property("load.model");
        lines.add(new Line(
                "the load is open: it does not wait for answers, unless the number of callers is the question",
                model.equals("open")
                        || (model.equals("closed")
                                && run.property("load.question").equals("callers")),
                model.isEmpty() ? "not recorded" : model));
        lines.add(limit(
                "the generator was not late: p99 of its delays at most 50 ms",
                "generator\\..*\\.delay\\.(p99|max)",
                RunResult.MAX_GENERATOR_DELAY_MILLIS,
                "ms",
                run));
        lines.add(limit(
                "the generator was not saturated: at most 80 % of its cores in any step",
                "generator\\..*\\.busy", RunResult.MAX_GENERATOR_BUSY_PERCENT, "%", run));
        lines.add(warmUp(run));
        if (run.compares()) {
            String limits = run.property("limits");
            lines.add(new Line(
                    "what is compared has the same limits",
                    !limits.isEmpty(),
                    limits.isEmpty() ? "not recorded" : limits));
        }
        lines.add(rawData(run));
        if (!Claim.shipped(run.property("experiment")).isEmpty()
                || !run.claims().isEmpty()) {
            int stated = run.claims().size();
            lines.add(new Line(
                    "the tolerances were stated before the run",
                    stated > 0,
                    stated == 0 ? "the run recorded no claims when it began" : stated + " claims in claims.csv"));
        }
        return new Checklist(List.copyOf(lines));
    }

    List<String> missed() {
        return lines.stream().filter(line -> !line.met).map(Line::text).toList();
    }

    private static String sorted(Set<String> names) {
        return names.stream().sorted().collect(Collectors.joining(", "));
    }

    private static Line limit(String text, String facts, double most, String unit, RunResult run) {
        OptionalDouble max = run.facts().stream()
                .filter(fact -> fact.name().matches(facts))
                .mapToDouble(fact -> fact.value())
                .max();
        String measured =
                max.isEmpty() ? "not measured" : String.format(Locale.ROOT, "%.1f %s", max.getAsDouble(), unit);
        return new Line(text, max.isPresent() && max.getAsDouble() <= most, measured);
    }

    private static Line warmUp(RunResult run) {
        String seconds = run.property("warm-up.seconds");
        boolean known = seconds.matches("\\d+(\\.\\d+)?");
        boolean start = run.property("load.question").equals("start");
        return new Line(
                "the measured part begins after a warm-up of at least 5 s, unless the start is the question",
                start || (known && Double.parseDouble(seconds) >= MIN_WARM_UP_SECONDS),
                start ? "none: the start is the question" : known ? seconds + " s" : "not recorded");
    }

    /** Steps of maximum rates have samples of processes only. */
    private static Line rawData(RunResult run) {
        Set<String> rows = run.requests().stream().map(Request::step).collect(Collectors.toSet());
        run.processes().forEach(sample -> rows.add(sample.step()));
        List<String> empty = run.steps().stream()
                .filter(step -> !step.label().equals(RunResult.WARM_UP) && !rows.contains(step.id()))
                .map(Step::name)
                .toList();
        boolean kept = !run.requests().isEmpty() && empty.isEmpty();
        String measured = run.requests().size() + " requests in " + run.steps().size() + " steps";
        return new Line(
                "the raw data of each step are kept",
                kept,
                empty.isEmpty() ? measured : "none of " + String.join(", ", empty));
    }
}
