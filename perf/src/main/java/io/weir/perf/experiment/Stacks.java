package io.weir.perf.experiment;

import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.Wrk;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Five stacks with a pool of 100 connections read ten records for 4 to 500 callers. Each stack has a jar with
 * only what it needs. The crossing is the smallest concurrency from which on WebFlux with R2DBC serves more
 * requests than MVC with JDBC; there is none if one of them serves more everywhere.
 */
@Measures(
        name = "stacks",
        question = "five stacks at 4 to 500 concurrent, pools of 100, ten records: which wins where?",
        quickMinutes = 7,
        fullMinutes = 120,
        processes = 2)
final class Stacks extends ClosedExperiment {

    private static final String MVC = "mvc-jdbc";
    private static final String WEBFLUX = "webflux-r2dbc";
    private static final List<String> ALL = List.of(MVC, "mvc-jdbc-virtual", "mvc-r2dbc", "webflux-jdbc", WEBFLUX);
    private static final String PATH = "/records";

    private static List<Integer> concurrencies(boolean quick) {
        return quick ? List.of(4, 50, 200, 500) : List.of(4, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500);
    }

    /** The original warms up for two seconds, in which a JVM compiles little. */
    @Override
    List<ClosedRounds> services(boolean quick) {
        return ALL.stream()
                .map(stack -> {
                    ClosedRounds rounds = new ClosedRounds(stack, "records", stack, "--sim.database.pool-size=100")
                            .readyAt(PATH)
                            .steady(quick ? 6 : 24)
                            .warmUp(PATH, 50, 5);
                    concurrencies(quick).forEach(callers -> rounds.thenInSeries(stack, PATH, callers, quick ? 4 : 120));
                    return rounds;
                })
                .toList();
    }

    @Override
    public List<String> missingTools() {
        return Wrk.missing("a steady rate before the rounds").toList();
    }

    @Override
    void prepare(ExperimentContext context) {
        for (String stack : ALL) {
            long bytes = context.servers().stackJar(stack).toFile().length();
            context.fact(stack + ".jar", bytes / 1e6, "MB");
        }
    }

    @Override
    void record(List<ClosedRounds> services, ExperimentContext context) {
        Map<String, Map<Integer, Long>> served = new TreeMap<>();
        for (ClosedRounds rounds : services) {
            Map<Integer, Long> ofStack = new TreeMap<>();
            concurrencies(context.quick())
                    .forEach(callers -> ofStack.put(callers, rounds.successes(rounds.label() + '@' + callers)));
            served.put(rounds.label(), ofStack);
        }
        int crossing = crossing(served.getOrDefault(MVC, Map.of()), served.getOrDefault(WEBFLUX, Map.of()));
        if (crossing > 0) {
            context.fact("crossing", crossing, "concurrent");
        }
    }

    /**
     * The smallest concurrency from which on the second serves more, having served less before; 0 if none.
     */
    static int crossing(Map<Integer, Long> first, Map<Integer, Long> second) {
        int from = 0;
        boolean behind = false;
        for (int callers : new TreeMap<>(first).keySet()) {
            if (second.getOrDefault(callers, 0L) <= first.getOrDefault(callers, 0L)) {
                behind = true;
                from = 0;
            } else if (from == 0) {
                from = callers;
            }
        }
        return behind ? from : 0;
    }
}
