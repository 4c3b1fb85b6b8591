package io.weir.perf.experiment;

import io.weir.perf.run.Bench;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Fleet;
import java.time.Duration;
import java.util.List;

/**
 * Clients at a pool of threads, each asking again as soon as it is answered. The figures are the service's own, measured by Little's law: active requests λ · W, the dead time's share of the response
 * time, requests retired.
 */
final class PoolSize implements Experiment {

    private record Pool(int clients, int threads) {

        String label() {
            return clients + "x" + threads;
        }
    }

    private static final List<Pool> ALL = List.of(new Pool(1, 1), new Pool(10, 1), new Pool(10, 4), new Pool(10, 8));
    private static final Duration WARM_UP = Duration.ofSeconds(5);

    /** A second longer than the service's window, so that its figures at the end are the step's. */
    private static Duration each(boolean quick) {
        return Duration.ofSeconds(quick ? 8 : 60);
    }

    @Override
    public String name() {
        return "pool-size";
    }

    @Override
    public String question() {
        return "clients and threads, 1 × 1, 10 × 1, 10 × 4, 10 × 8: who works, who waits?";
    }

    @Override
    public int steps(boolean quick) {
        return 2 * ALL.size();
    }

    @Override
    public Duration length(boolean quick) {
        return each(quick).plus(WARM_UP).plusSeconds(20).multipliedBy(ALL.size());
    }

    @Override
    public int processes() {
        return 1;
    }

    @Override
    public void run(Bench bench) throws InterruptedException {
        Simulators simulators = new Simulators(bench);
        Fleet fleet = new Fleet(bench);
        for (Pool pool : ALL) {
            Duration window = each(bench.quick()).minusSeconds(1);
            Fleet.Server service = simulators.ofStack(
                    "mvc-jdbc",
                    "/delay?ms=1",
                    "--sim.pool.workers=" + pool.threads(),
                    "--sim.pool.window=" + window.toSeconds() + "s");
            new Rounds(bench, "HowManyThreadsLeaveNobodyWaiting")
                    .warmUp("/work", pool.clients(), WARM_UP)
                    .then(pool.label(), "/work", pool.clients(), each(bench.quick()))
                    .ask(service, pool.label(), "work", step -> {
                        if (step.equals(pool.label())) {
                            figures(bench, fleet, step, service);
                        }
                    });
            bench.stop(service);
        }
    }

    private static void figures(Bench bench, Fleet fleet, String step, Fleet.Server service) {
        bench.fact(step + ".active", fleet.meter(service, "sim_pool_active_average"), "requests");
        bench.fact(step + ".dead-time", fleet.meter(service, "sim_pool_dead_time_ratio"), "of 1");
        bench.fact(step + ".retired", fleet.meter(service, "sim_pool_retired_total"), "requests");
    }
}
