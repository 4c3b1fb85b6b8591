package io.weir.perf.experiment;

import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.Host;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.TestServers;
import java.util.List;

/**
 * A hundred callers of a service that calls two others for 200 ms each, in six ways. {@code tomcat-20} and
 * {@code tomcat-50} have that many platform threads, and each waits for one answer after the other. The other
 * ways have a thread for each caller, or none.
 */
@Measures(
        name = "virtual-threads",
        question = "100 callers, two calls of 200 ms: Tomcat 20, 50, virtual, in parallel, WebClient, coroutines?",
        quickMinutes = 2,
        fullMinutes = 4,
        processes = 2)
final class VirtualThreads extends ClosedExperiment {

    private static final int CALLERS = 100;
    private static final int CALL_MILLIS = 200;

    /** The port is known before the called service starts. */
    private final int calledPort = Host.freePort();

    @Override
    void prepare(ExperimentContext context) throws InterruptedException {
        TestServers servers = context.servers();
        servers.ready(servers.simulator("asked", calledPort, "webflux-r2dbc"), "/delay?ms=1");
    }

    /** Ways with the same number of platform threads share a service. */
    @Override
    List<ClosedRounds> services(boolean quick) {
        // In a full run, the slowest way completes a thousand requests.
        int seconds = quick ? 6 : 25;
        ClosedRounds fifty = service(50);
        way(fifty, "tomcat-50", "platform", false, seconds);
        way(fifty, "virtual", "virtual", false, seconds);
        way(fifty, "virtual-parallel", "virtual", true, seconds);
        way(fifty, "webclient", "webclient", true, seconds);
        way(fifty, "coroutines", "coroutines", true, seconds);
        return List.of(way(service(20), "tomcat-20", "platform", false, seconds), fifty);
    }

    private ClosedRounds service(int threads) {
        String call = "http://127.0.0.1:" + calledPort + "/delay?ms=" + CALL_MILLIS;
        return new ClosedRounds(
                        threads + "-threads",
                        "fanout",
                        TestServers.ALL_STACKS,
                        "--sim.fanout.threads=" + threads,
                        "--sim.fanout.services=" + call + ',' + call)
                .warmUp("/fanout/virtual?parallel=true", CALLERS, 6);
    }

    /** A way to call both services; it cannot be faster than the calls. */
    private static ClosedRounds way(ClosedRounds rounds, String label, String kind, boolean parallel, int seconds) {
        String path = "/fanout/" + kind + "?parallel=" + parallel;
        LoadAssertion notFaster = LoadAssertion.atLeast("min", parallel ? CALL_MILLIS : 2 * CALL_MILLIS);
        return rounds.then(label, path, CALLERS, seconds, LoadAssertion.ALL_SUCCEED, notFaster);
    }

    @Override
    void record(List<ClosedRounds> services, ExperimentContext context) {
        ClosedRounds others = services.getLast();
        double slowest = services.getFirst().mean("tomcat-20");
        double fifty = others.mean("tomcat-50");
        double virtual = others.mean("virtual");
        double parallel = others.mean("virtual-parallel");
        context.require(
                "fewer threads that wait take longer: tomcat-20 > tomcat-50 > virtual",
                slowest > fifty && fifty > virtual,
                "%.0f, %.0f, %.0f ms".formatted(slowest, fifty, virtual));
        context.require(
                "two calls in parallel take less time than one after the other: virtual > virtual-parallel",
                virtual > parallel,
                "%.0f, %.0f ms".formatted(virtual, parallel));
    }
}
