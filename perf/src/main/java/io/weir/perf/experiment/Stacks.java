package io.weir.perf.experiment;

import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.ExperimentName;
import io.weir.perf.run.Experiment.Question;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.TestServers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Five stacks with a pool of 100 connections read ten records for 4 to 500 callers. Each stack has a jar with
 * only what it needs. The crossing is the smallest concurrency from which on WebFlux with R2DBC serves more
 * requests than MVC with JDBC; there is none if one of them serves more everywhere.
 */
@ExperimentName("stacks")
@Question("five stacks at 4 to 500 concurrent, pools of 100, ten records: which wins where?")
final class Stacks extends Experiment {

    private static final List<String> ALL =
            List.of("mvc-jdbc", "mvc-jdbc-virtual", "mvc-r2dbc", "webflux-jdbc", "webflux-r2dbc");
    private static final String PATH = "/records";

    private static List<Integer> concurrencies(boolean quick) {
        return quick ? List.of(4, 50, 200, 500) : List.of(4, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500);
    }

    private static Duration length(boolean quick) {
        return Duration.ofSeconds(quick ? 4 : 120);
    }

    /**
     * Longer than the original's two seconds, in which a JVM compiles little: the first steps would be
     * slower.
     */
    private static Duration warmUp(boolean quick) {
        return Duration.ofSeconds(quick ? 15 : 30);
    }

    @Override
    public Estimate estimate(boolean quick, boolean remote) {
        int rounds = concurrencies(quick).size();
        Duration perStack = length(quick)
                .plusSeconds(3)
                .multipliedBy(rounds)
                .plus(warmUp(quick))
                .plusSeconds(17);
        return new Estimate(ALL.size() * (1 + rounds), perStack.multipliedBy(ALL.size()));
    }

    @Override
    public int processes() {
        return 2;
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        TestServers servers = new TestServers(context);
        Map<String, Map<Integer, Long>> served = new TreeMap<>();
        for (String stack : ALL) {
            context.fact(stack + ".jar", jarMegabytes(servers, stack), "MB");
            RunningServer service = servers.service(stack, PATH, "--sim.database.pool-size=100");
            ClosedRounds rounds = new ClosedRounds(context).warmUp(PATH, 50, warmUp(context.quick()));
            List<Integer> concurrencies = concurrencies(context.quick());
            concurrencies.forEach(callers -> rounds.thenInSeries(stack, PATH, callers, length(context.quick())));
            rounds.run(service, stack, "records");
            context.stop(service);
            Map<Integer, Long> ofStack = new TreeMap<>();
            concurrencies.forEach(callers -> ofStack.put(callers, rounds.successes(stack + '@' + callers)));
            served.put(stack, ofStack);
        }
        int crossing =
                crossing(served.getOrDefault("mvc-jdbc", Map.of()), served.getOrDefault("webflux-r2dbc", Map.of()));
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

    private static double jarMegabytes(TestServers servers, String stack) {
        try {
            return Files.size(servers.stackJar(stack)) / 1e6;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
