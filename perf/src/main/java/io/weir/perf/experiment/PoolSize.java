package io.weir.perf.experiment;

import io.weir.perf.experiment.ClosedRounds.RequestMode;
import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.RunningServer;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Clients of a pool of threads with a queue for all. The service measures the figures by Little's law:
 * active requests λ · W, the share of the response time that is dead time, and completed ("retired")
 * requests. A pool whose queue is bounded by 100 gets 150 requests at once: ten are served, a hundred wait,
 * and the others get 503.
 */
@Measures(
        name = "pool-size",
        question = "clients and threads, 1 × 1, 10 × 1, 10 × 4, 10 × 8: how many work, how many wait?",
        quickMinutes = 3,
        fullMinutes = 6)
class PoolSize extends ClosedExperiment {

    private static final String OVERFLOW = "overflow";
    /** By the rule, a pool with more of it has too few threads. */
    private static final double MAX_DEAD_TIME = 0.2;

    private final Map<Integer, Double> deadTimeOfTenClients = new TreeMap<>();

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
                pool(1, 1, 5, seconds),
                pool(10, 1, 5, seconds),
                pool(10, 4, 5, seconds),
                pool(10, 8, 5, seconds),
                overflow());
    }

    /** No request completes while the others arrive. */
    private static ClosedRounds overflow() {
        return new ClosedRounds(
                        OVERFLOW,
                        "work",
                        "mvc-jdbc",
                        "--sim.pool.workers=10",
                        "--sim.pool.queue-capacity=100",
                        "--sim.pool.service-time=500ms")
                .warmUp("/work", 10, 5)
                .then(RequestMode.ONCE, OVERFLOW, "/work", 150, 8, LoadAssertion.SOME_FAIL);
    }

    @Override
    void record(List<ClosedRounds> services, ExperimentContext context) {
        long refused =
                services.getLast().requests(OVERFLOW).count(one -> one.outcome().equals("status-503"));
        context.fact(OVERFLOW + ".refused", (double) refused, "requests");
        deadTimeOfTenClients.entrySet().stream()
                .filter(pool -> pool.getValue() <= MAX_DEAD_TIME)
                .findFirst()
                .ifPresent(pool -> context.fact("enough.threads", pool.getKey(), "threads"));
    }

    @Override
    Map<String, String> counters() {
        return Map.of("retired", "sim_pool_retired_total");
    }

    @Override
    void stepEnds(String step, RunningServer service, ExperimentContext context) {
        super.stepEnds(step, service, context);
        context.fact(step + ".active", service.metric("sim_pool_active_average"), "requests");
        double deadTime = service.metric("sim_pool_dead_time_ratio");
        context.fact(step + ".dead-time", deadTime, "of 1");
        if (step.startsWith("10x")) {
            deadTimeOfTenClients.put(Integer.parseInt(step.substring(3)), deadTime);
        }
    }
}
