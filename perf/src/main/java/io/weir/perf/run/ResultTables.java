package io.weir.perf.run;

import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import io.weir.perf.result.RunResult;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;

final class ResultTables {

    private ResultTables() {}

    static void print(Path directory) {
        RunResult run = RunResult.read(directory);
        System.out.printf(
                "%-26s %-12s %8s %9s %9s %9s  %s%n",
                "step", "request", "requests", "success %", "p50 ms", "p99 ms", "outcomes");
        Map<String, Requests> byStep = run.requests().by(Request::step);
        run.steps()
                .forEach(step -> byStep.getOrDefault(step.id(), new Requests(List.of()))
                        .by(Request::name)
                        .forEach((name, requests) -> System.out.printf(
                                Locale.ROOT,
                                "%-26s %-12s %8d %9.1f %9.1f %9.1f  %s%n",
                                (step.label() + ' ' + step.x()).strip(),
                                name,
                                requests.size(),
                                requests.successPercent(),
                                requests.percentile(50),
                                requests.percentile(99),
                                requests.countByOutcome())));
        run.facts()
                .forEach(fact ->
                        System.out.printf(Locale.ROOT, "%-48s %14.3f %s%n", fact.name(), fact.value(), fact.unit()));
    }
}
