package io.weir.perf.experiment;

import io.weir.perf.result.RunResult;
import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.RunningServer;
import java.util.List;

/**
 * Clients of a pool of threads with an unbounded queue. The service measures the figures by Little's law:
 * active requests λ · W, the share of the response time that is dead time, and completed ("retired")
 * requests.
 */
@Measures(
        name = "pool-size",
        question = "clients and threads, 1 × 1, 10 × 1, 10 × 4, 10 × 8: how many work, how many wait?",
        quickMinutes = 3,
        fullMinutes = 6)
class PoolSize extends ClosedExperiment {

    private static final String RETIRED = "sim_pool_retired_total";
    private double retiredBefore;

    /** The service's window is a second shorter than the step, so that its figures are the step's. */
    static ClosedRounds pool(int clients, int threads, int warmUpSeconds, int seconds) {
        String label = clients + "x" + threads;
        String window = "--sim.pool.window=" + (seconds - 1) + "s";
        return new ClosedRounds(label, "work", "mvc-jdbc", "--sim.pool.workers=" + threads, window)
                .warmUp("/work", clients, warmUpSeconds)
                .then(label, "/work", clients, seconds, LoadAssertion.ALL_SUCCEED);
    }

    @Override
    List<ClosedRounds> services(boolean quick) {
        int seconds = quick ? 8 : 60;
        return List.of(
                pool(1, 1, 5, seconds), pool(10, 1, 5, seconds), pool(10, 4, 5, seconds), pool(10, 8, 5, seconds));
    }

    @Override
    void stepBegins(String step, RunningServer service) {
        retiredBefore = service.metric(RETIRED);
    }

    @Override
    void stepEnds(String step, RunningServer service, ExperimentContext context) {
        if (!step.equals(RunResult.WARM_UP)) {
            context.fact(step + ".active", service.metric("sim_pool_active_average"), "requests");
            context.fact(step + ".dead-time", service.metric("sim_pool_dead_time_ratio"), "of 1");
            context.fact(step + ".retired", service.metric(RETIRED) - retiredBefore, "requests");
        }
    }
}
