package io.weir.perf.result;

import io.weir.perf.result.RunResult.ProcessSample;
import io.weir.perf.result.RunResult.Step;
import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/**
 * All figures of a run by name: the figures of each step, computed from the raw files, and the facts. The
 * figures of a step exclude requests and samples before its start and after its end.
 *
 * <table><caption>Names</caption>
 * <tr><td>{@code STEP/FIGURE}, {@code STEP/FIGURE/REQUEST}</td><td>{@code requests}, {@code took-seconds}
 * (first request sent to last one completed), {@code throughput} (successes per second), {@code
 * success-percent}, {@code OUTCOME-percent}; of successes: {@code mean-ms}, {@code p50-ms}, {@code p90-ms},
 * {@code p95-ms}, {@code p99-ms}, {@code max-ms}</td></tr>
 * <tr><td>{@code STEP/FIGURE/PROCESS}</td><td>{@code cpu-percent} (of one core), {@code
 * cpu-micros-per-request}; maxima: {@code rss-mb}, {@code threads}, {@code connections}; {@code
 * rss-kb-per-request} (memory per request per second)</td></tr>
 * <tr><td>{@code NAME}</td><td>a fact</td></tr>
 * </table>
 */
public final class RunFigures {

    private static final MathContext DIGITS = new MathContext(6);

    private final Map<String, Double> values = new LinkedHashMap<>();

    private RunFigures() {}

    /** The figures of a kept run are those that it was kept with. */
    public static RunFigures of(RunResult run) {
        RunFigures figures = new RunFigures();
        KeptRun.FIGURES.readIfPresent(run.directory()).forEach(one -> figures.values.put(one.name(), one.value()));
        if (!figures.values.isEmpty()) {
            return figures;
        }
        Map<String, Requests> requests = run.requests().by(Request::step);
        Map<String, List<ProcessSample>> samples =
                run.processes().stream().collect(Collectors.groupingBy(ProcessSample::step));
        Set<String> outcomes = run.requests().by(Request::outcome).keySet();
        for (Step step : run.steps()) {
            Requests sent = requests.getOrDefault(step.id(), new Requests(List.of()))
                    .where(request -> step.contains(request.atMillis()));
            figures.addRequests(step, sent, outcomes, "");
            sent.by(Request::name).forEach((name, ofName) -> figures.addRequests(step, ofName, outcomes, '/' + name));
            samples.getOrDefault(step.id(), List.of()).stream()
                    .filter(sample -> step.contains(sample.atMillis()))
                    .sorted(Comparator.comparingLong(ProcessSample::atMillis))
                    .collect(Collectors.groupingBy(ProcessSample::process, TreeMap::new, Collectors.toList()))
                    .forEach((process, ofProcess) -> figures.addProcess(step, process, ofProcess, sent.size()));
        }
        run.facts().forEach(fact -> figures.values.put(fact.name(), fact.value()));
        return figures;
    }

    /** The facts alone, of a directory that may have nothing else. */
    public static RunFigures facts(Path directory) {
        RunFigures figures = new RunFigures();
        RunResult.FACTS.read(directory).forEach(fact -> figures.values.put(fact.name(), fact.value()));
        return figures;
    }

    /** The names of all figures, in the order of the files. */
    public List<String> names() {
        return List.copyOf(values.keySet());
    }

    /** All figures, with as many digits as a claim can need. */
    List<KeptRun.Figure> all() {
        return values.entrySet().stream()
                .map(figure -> new KeptRun.Figure(
                        figure.getKey(),
                        new BigDecimal(figure.getValue()).round(DIGITS).doubleValue()))
                .toList();
    }

    /** A figure by its full name; empty if it was not measured. */
    public OptionalDouble get(String name) {
        Double value = values.get(name);
        return value == null || value.isNaN() ? OptionalDouble.empty() : OptionalDouble.of(value);
    }

    public double get(Step step, String figure) {
        return values.getOrDefault(step.name() + '/' + figure, Double.NaN);
    }

    private void addRequests(Step step, Requests requests, Set<String> outcomes, String suffix) {
        put(step, "requests" + suffix, requests.size());
        if (requests.isEmpty()) {
            return;
        }
        Requests successes = requests.successes();
        put(step, "took-seconds" + suffix, requests.seconds());
        put(step, "throughput" + suffix, successes.size() / step.seconds());
        Map<String, Long> counts = requests.countByOutcome();
        for (String outcome : outcomes) {
            put(step, outcome + "-percent" + suffix, 100.0 * counts.getOrDefault(outcome, 0L) / requests.size());
        }
        put(step, Request.SUCCESS + "-percent" + suffix, requests.successPercent());
        put(step, "mean-ms" + suffix, successes.mean());
        for (int percent : new int[] {50, 90, 95, 99}) {
            put(step, "p" + percent + "-ms" + suffix, successes.percentile(percent));
        }
        put(step, "max-ms" + suffix, successes.percentile(100));
    }

    private void addProcess(Step step, String process, List<ProcessSample> samples, int requests) {
        ProcessSample first = samples.getFirst();
        ProcessSample last = samples.getLast();
        if (last.atMillis() > first.atMillis()) {
            double cores = (last.cpuMicros() - first.cpuMicros()) / 1000.0 / (last.atMillis() - first.atMillis());
            put(step, "cpu-percent/" + process, 100 * cores);
            put(step, "cpu-micros-per-request/" + process, cores * step.seconds() * 1e6 / requests);
        }
        double rssBytes = max(samples, ProcessSample::rssBytes);
        put(step, "rss-mb/" + process, rssBytes / 1e6);
        put(step, "rss-kb-per-request/" + process, rssBytes / 1e3 / (requests / step.seconds()));
        put(step, "threads/" + process, max(samples, ProcessSample::threads));
        put(step, "connections/" + process, max(samples, ProcessSample::connections));
    }

    private static double max(List<ProcessSample> samples, ToLongFunction<ProcessSample> value) {
        return samples.stream().mapToLong(value).max().orElse(0);
    }

    /** Drops figures that are not finite, such as those per request in a step without requests. */
    private void put(Step step, String figure, double value) {
        if (Double.isFinite(value)) {
            values.put(step.name() + '/' + figure, value);
        }
    }
}
