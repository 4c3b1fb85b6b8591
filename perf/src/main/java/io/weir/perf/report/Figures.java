package io.weir.perf.report;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * All figures of a run, by name: those that are computed from its raw files for each step, and its facts. A step's name is its label, with {@code @X} in a series; what was
 * asked or seen before it began or after it ended, is not in its figures.
 *
 * <table><caption>Computed</caption>
 * <tr><td>{@code STEP/FIGURE}, {@code STEP/FIGURE/REQUEST}</td><td>{@code requests}, {@code took-seconds} (from the first request's beginning to the last one's end), {@code throughput}
 * (successes in a second of the step), {@code success-percent}, {@code OUTCOME-percent}, and of the successes {@code mean-ms}, {@code p50-ms}, {@code p90-ms}, {@code p95-ms}, {@code p99-ms},
 * {@code max-ms}</td></tr>
 * <tr><td>{@code STEP/FIGURE/PROCESS}</td><td>{@code cpu-percent} (of one core), {@code cpu-micros-per-request}, {@code rss-mb}, {@code threads}, {@code connections} (the most that were
 * seen), {@code rss-kb-per-request} (of that memory, for each request that it serves in a second)</td></tr>
 * <tr><td>{@code NAME}</td><td>a fact</td></tr>
 * </table>
 */
final class Figures {

    private final Map<String, Double> values = new LinkedHashMap<>();

    private Figures() {}

    static Figures of(Run run) {
        Figures figures = new Figures();
        Map<String, List<Run.Request>> requests =
                run.requests().stream().collect(Collectors.groupingBy(Run.Request::step));
        Map<String, List<Run.Sample>> samples =
                run.processes().stream().collect(Collectors.groupingBy(Run.Sample::step));
        TreeSet<String> outcomes =
                run.requests().stream().map(Run.Request::outcome).collect(Collectors.toCollection(TreeSet::new));
        for (Run.Step step : run.steps()) {
            List<Run.Request> ofStep = requests.getOrDefault(step.id(), List.of()).stream()
                    .filter(request -> step.spans(request.at()))
                    .toList();
            figures.add(step, ofStep, outcomes, "");
            Map<String, List<Run.Request>> byName = ofStep.stream()
                    .collect(Collectors.groupingBy(Run.Request::name, TreeMap::new, Collectors.toList()));
            byName.forEach((name, named) -> figures.add(step, named, outcomes, "/" + name));
            samples.getOrDefault(step.id(), List.of()).stream()
                    .filter(sample -> step.spans(sample.at()))
                    .collect(Collectors.groupingBy(Run.Sample::process, TreeMap::new, Collectors.toList()))
                    .forEach((process, seen) -> figures.add(step, process, seen, ofStep.size()));
        }
        run.facts().forEach(fact -> figures.values.put(fact.name(), fact.value()));
        return figures;
    }

    /** The figure of that name, or nothing if it was not measured. */
    OptionalDouble get(String name) {
        Double value = values.get(name);
        return value == null || value.isNaN() ? OptionalDouble.empty() : OptionalDouble.of(value);
    }

    /** A figure of a step, or not a number. */
    double get(Run.Step step, String figure) {
        return values.getOrDefault(step.name() + '/' + figure, Double.NaN);
    }

    private void add(Run.Step step, Collection<Run.Request> requests, Collection<String> outcomes, String of) {
        put(step, "requests" + of, requests.size());
        if (requests.isEmpty()) {
            return;
        }
        double began = requests.stream().mapToDouble(Run.Request::at).min().orElseThrow();
        double ended = requests.stream().mapToDouble(Run.Request::ended).max().orElseThrow();
        long successes = requests.stream().filter(Run.Request::success).count();
        put(step, "took-seconds" + of, (ended - began) / 1000);
        put(step, "throughput" + of, successes / step.seconds());
        Map<String, Long> counts =
                requests.stream().collect(Collectors.groupingBy(Run.Request::outcome, Collectors.counting()));
        for (String outcome : outcomes) {
            put(step, outcome + "-percent" + of, 100.0 * counts.getOrDefault(outcome, 0L) / requests.size());
        }
        put(step, Outcomes.SUCCESS + "-percent" + of, 100.0 * successes / requests.size());
        Latencies latencies = Latencies.ofSuccesses(requests);
        put(step, "mean-ms" + of, latencies.mean());
        for (int percent : new int[] {50, 90, 95, 99}) {
            put(step, "p" + percent + "-ms" + of, latencies.percentile(percent));
        }
        put(step, "max-ms" + of, latencies.percentile(100));
    }

    private void add(Run.Step step, String process, List<Run.Sample> seen, int requests) {
        List<Run.Sample> samples = new ArrayList<>(seen);
        samples.sort(java.util.Comparator.comparingLong(Run.Sample::at));
        Run.Sample first = samples.getFirst();
        Run.Sample last = samples.getLast();
        if (last.at() > first.at()) {
            double cores = (last.cpuMicros() - first.cpuMicros()) / 1000.0 / (last.at() - first.at());
            put(step, "cpu-percent/" + process, 100 * cores);
            if (requests > 0) {
                put(step, "cpu-micros-per-request/" + process, cores * step.seconds() * 1e6 / requests);
            }
        }
        put(step, "rss-mb/" + process, most(samples, Run.Sample::rssBytes) / 1e6);
        if (requests > 0) {
            put(
                    step,
                    "rss-kb-per-request/" + process,
                    most(samples, Run.Sample::rssBytes) / 1e3 / (requests / step.seconds()));
        }
        put(step, "threads/" + process, most(samples, Run.Sample::threads));
        put(step, "connections/" + process, most(samples, Run.Sample::connections));
    }

    private static double most(List<Run.Sample> samples, java.util.function.ToLongFunction<Run.Sample> what) {
        return samples.stream().mapToLong(what).max().orElse(0);
    }

    private void put(Run.Step step, String figure, double value) {
        if (Double.isFinite(value)) {
            values.put(step.name() + '/' + figure, value);
        }
    }
}
