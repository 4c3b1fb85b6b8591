package io.weir.perf.run;

import io.weir.perf.result.Request;
import io.weir.perf.result.RunResult;
import io.weir.perf.result.RunResult.Step;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

final class ResultTables {

    private static final String ROW = "%-26s %-12s %8s %9s %9s %9s  %s%n";

    private ResultTables() {}

    static void print(Path directory) {
        RunResult run = RunResult.read(directory);
        System.out.printf(ROW, "step", "request", "requests", "success %", "p50 ms", "p99 ms", "outcomes");
        Map<String, List<Request>> byStep = run.requests().stream().collect(Collectors.groupingBy(Request::step));
        for (Step step : run.steps()) {
            byStep.getOrDefault(step.id(), List.of()).stream()
                    .collect(Collectors.groupingBy(Request::name, TreeMap::new, Collectors.toList()))
                    .forEach((name, requests) -> System.out.printf(
                            ROW,
                            (step.label() + ' ' + step.x()).strip(),
                            name,
                            requests.size(),
                            decimal(Request.successPercent(requests)),
                            decimal(Request.percentile(requests, 50)),
                            decimal(Request.percentile(requests, 99)),
                            requests.stream()
                                    .collect(Collectors.groupingBy(
                                            Request::outcome, TreeMap::new, Collectors.counting()))));
        }
        run.facts()
                .forEach(fact ->
                        System.out.printf(Locale.ROOT, "%-48s %14.3f %s%n", fact.name(), fact.value(), fact.unit()));
    }

    private static String decimal(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }
}
