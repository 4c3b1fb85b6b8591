package io.weir.perf.experiment;

import io.weir.perf.experiment.ClosedRounds.RequestMode;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.ExperimentName;
import io.weir.perf.run.Experiment.Question;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.TestServers;
import java.time.Duration;
import java.util.List;

/**
 * Clients of a pool of threads with an unbounded queue. The service measures the figures by Little's law:
 * active requests λ · W, the share of the response time that is dead time, and completed ("retired")
 * requests.
 */
@ExperimentName("pool-size")
@Question("clients and threads, 1 × 1, 10 × 1, 10 × 4, 10 × 8: how many work, how many wait?")
class PoolSize extends Experiment {

    record PoolSetup(int clients, int threads) {

        String label() {
            return clients + "x" + threads;
        }
    }

    /**
     * The extent; {@code length} is a second longer than the service's window, so that its figures are the
     * step's.
     */
    record PoolSizeExtent(List<PoolSetup> pools, Duration warmUp, Duration length) {}

    PoolSizeExtent extent(boolean quick) {
        return new PoolSizeExtent(
                List.of(new PoolSetup(1, 1), new PoolSetup(10, 1), new PoolSetup(10, 4), new PoolSetup(10, 8)),
                Duration.ofSeconds(5),
                Duration.ofSeconds(quick ? 8 : 60));
    }

    @Override
    public Estimate estimate(boolean quick, boolean remote) {
        PoolSizeExtent extent = extent(quick);
        int pools = extent.pools().size();
        return new Estimate(
                2 * pools, extent.length().plus(extent.warmUp()).plusSeconds(20).multipliedBy(pools));
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        TestServers servers = new TestServers(context);
        PoolSizeExtent extent = extent(context.quick());
        for (PoolSetup pool : extent.pools()) {
            RunningServer service = servers.service(
                    "mvc-jdbc",
                    "/delay?ms=1",
                    "--sim.pool.workers=" + pool.threads(),
                    "--sim.pool.window=" + extent.length().minusSeconds(1).toSeconds() + "s");
            new ClosedRounds(context)
                    .warmUp("/work", pool.clients(), extent.warmUp())
                    .then(
                            RequestMode.REPEAT,
                            pool.label(),
                            "/work",
                            pool.clients(),
                            extent.length(),
                            LoadAssertion.ALL_SUCCEED)
                    .run(service, pool.label(), "work", new ServiceRecorder(pool.label(), service, context));
            context.stop(service);
        }
    }

    /** Records the service's own figures of a step. */
    private static final class ServiceRecorder implements ClosedRounds.StepListener {

        private static final String RETIRED = "sim_pool_retired_total";

        private final String label;
        private final RunningServer service;
        private final ExperimentContext context;
        private double retiredBefore;

        ServiceRecorder(String label, RunningServer service, ExperimentContext context) {
            this.label = label;
            this.service = service;
            this.context = context;
        }

        @Override
        public void begins(String step) {
            retiredBefore = service.metric(RETIRED);
        }

        @Override
        public void ends(String step) {
            if (step.equals(label)) {
                context.fact(step + ".active", service.metric("sim_pool_active_average"), "requests");
                context.fact(step + ".dead-time", service.metric("sim_pool_dead_time_ratio"), "of 1");
                context.fact(step + ".retired", service.metric(RETIRED) - retiredBefore, "requests");
            }
        }
    }
}
