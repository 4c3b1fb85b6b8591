package io.weir.perf.experiment;

import io.weir.perf.run.Bench;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Fleet;
import io.weir.perf.run.Request;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Five stacks, each from a jar with only what it needs, with a pool of 100 connections, read ten records for 4 to 500 callers who ask again as soon as they are answered.
 *
 * <p>The crossing is the smallest concurrency from which on WebFlux with R2DBC serves more than MVC with JDBC, having served less below. There is none if one of them is
 * ahead everywhere.
 */
final class Stacks implements Experiment {

    private static final List<String> ALL =
            List.of("mvc-jdbc", "mvc-jdbc-virtual", "mvc-r2dbc", "webflux-jdbc", "webflux-r2dbc");
    private static final String PATH = "/records";

    private static List<Integer> callers(boolean quick) {
        return quick ? List.of(4, 50, 200, 500) : List.of(4, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500);
    }

    private static Duration each(boolean quick) {
        return Duration.ofSeconds(quick ? 4 : 120);
    }

    /** The original's two seconds leave most of a JVM's work to be compiled, which is then the first steps'. */
    private static Duration warmUp(boolean quick) {
        return Duration.ofSeconds(quick ? 15 : 30);
    }

    @Override
    public String name() {
        return "stacks";
    }

    @Override
    public String question() {
        return "five stacks at 4 to 500 concurrent, pools of 100, ten records: which wins where?";
    }

    @Override
    public int steps(boolean quick) {
        return ALL.size() * (1 + callers(quick).size());
    }

    @Override
    public Duration length(boolean quick) {
        return each(quick)
                .plusSeconds(3)
                .multipliedBy(callers(quick).size())
                .plus(warmUp(quick))
                .plusSeconds(17)
                .multipliedBy(ALL.size());
    }

    @Override
    public int processes() {
        return 2;
    }

    @Override
    public void run(Bench bench) throws InterruptedException {
        Simulators simulators = new Simulators(bench);
        Map<String, Map<Integer, Long>> served = new TreeMap<>();
        for (String stack : ALL) {
            bench.fact(stack + ".jar", megabytes(bench, stack), "MB");
            Fleet.Server service = simulators.ofStack(stack, PATH, "--sim.database.pool-size=100");
            Rounds rounds = new Rounds(bench, "WhichStackWinsWhere").warmUp(PATH, 50, warmUp(bench.quick()));
            for (int callers : callers(bench.quick())) {
                rounds.then(stack, callers, PATH, each(bench.quick()));
            }
            rounds.ask(service, stack, "records");
            bench.stop(service);
            Map<Integer, Long> ofStack = new TreeMap<>();
            for (int callers : callers(bench.quick())) {
                ofStack.put(
                        callers,
                        rounds.of(stack + '@' + callers).stream()
                                .filter(Request::succeeded)
                                .count());
            }
            served.put(stack, ofStack);
        }
        int crossing =
                crossing(served.getOrDefault("mvc-jdbc", Map.of()), served.getOrDefault("webflux-r2dbc", Map.of()));
        if (crossing > 0) {
            bench.fact("crossing", crossing, "concurrent");
        }
    }

    /** The smallest number of callers from which on the second serves more, having served less before; 0 if there is none. */
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

    private static double megabytes(Bench bench, String stack) {
        try {
            return Files.size(Simulators.jar(bench, stack)) / 1e6;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
