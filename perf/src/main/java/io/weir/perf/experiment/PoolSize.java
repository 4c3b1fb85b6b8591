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
class PoolSize implements Experiment {

    record Pool(int clients, int threads) {

        String label() {
            return clients + "x" + threads;
        }
    }

    private static final String RETIRED = "sim_pool_retired_total";

    /**
     * How much of it.
     *
     * @param each a second longer than the service's window, so that its figures at the end are the step's
     */
    record Extent(List<Pool> pools, Duration warmUp, Duration each) {

        static Extent of(boolean quick) {
            return new Extent(
                    List.of(new Pool(1, 1), new Pool(10, 1), new Pool(10, 4), new Pool(10, 8)),
                    Duration.ofSeconds(5),
                    Duration.ofSeconds(quick ? 8 : 60));
        }

        private Duration window() {
            return each.minusSeconds(1);
        }
    }

    /** How much of it is done. */
    Extent extent(boolean quick) {
        return Extent.of(quick);
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
        return 2 * extent(quick).pools().size();
    }

    @Override
    public Duration length(boolean quick) {
        Extent extent = extent(quick);
        return extent.each()
                .plus(extent.warmUp())
                .plusSeconds(20)
                .multipliedBy(extent.pools().size());
    }

    @Override
    public int processes() {
        return 1;
    }

    @Override
    public void run(Bench bench) throws InterruptedException {
        Simulators simulators = new Simulators(bench);
        Fleet fleet = new Fleet(bench);
        Extent extent = extent(bench.quick());
        for (Pool pool : extent.pools()) {
            Fleet.Server service = simulators.ofStack(
                    "mvc-jdbc",
                    "/delay?ms=1",
                    "--sim.pool.workers=" + pool.threads(),
                    "--sim.pool.window=" + extent.window().toSeconds() + "s");
            new Rounds(bench, "HowManyThreadsLeaveNobodyWaiting")
                    .warmUp("/work", pool.clients(), extent.warmUp())
                    .then(pool.label(), "/work", pool.clients(), extent.each())
                    .ask(service, pool.label(), "work", new Rounds.AtStep() {

                        private double retired;

                        @Override
                        public void begins(String step) {
                            retired = fleet.meter(service, RETIRED);
                        }

                        @Override
                        public void ends(String step) {
                            if (step.equals(pool.label())) {
                                figures(bench, fleet, step, service);
                                bench.fact(step + ".retired", fleet.meter(service, RETIRED) - retired, "requests");
                            }
                        }
                    });
            bench.stop(service);
        }
    }

    private static void figures(Bench bench, Fleet fleet, String step, Fleet.Server service) {
        bench.fact(step + ".active", fleet.meter(service, "sim_pool_active_average"), "requests");
        bench.fact(step + ".dead-time", fleet.meter(service, "sim_pool_dead_time_ratio"), "of 1");
    }
}
