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
import java.util.Locale;

/**
 * A hundred callers of a service that calls two others for 200 ms each, in six ways. {@code tomcat-20} and
 * {@code tomcat-50} have that many platform threads, and each waits for one answer after the other. The other
 * ways have a thread for each caller, or none.
 */
@ExperimentName("virtual-threads")
@Question("100 concurrent, two calls of 200 ms: Tomcat 20, 50, virtual, virtual in parallel, WebClient, coroutines?")
final class VirtualThreads extends Experiment {

    private static final int CALLERS = 100;
    private static final int CALL_MILLIS = 200;

    /** A way to call both services; ways with the same number of platform threads share a service. */
    private record Way(String label, String kind, boolean parallel, int threads) {

        String path() {
            return "/fanout/" + kind + "?parallel=" + parallel;
        }

        LoadAssertion notFasterThanTheCalls() {
            return LoadAssertion.atLeast("min", parallel ? CALL_MILLIS : 2 * CALL_MILLIS);
        }
    }

    private static final List<Way> ALL = List.of(
            new Way("tomcat-20", "platform", false, 20),
            new Way("tomcat-50", "platform", false, 50),
            new Way("virtual", "virtual", false, 50),
            new Way("virtual-parallel", "virtual", true, 50),
            new Way("webclient", "webclient", true, 50),
            new Way("coroutines", "coroutines", true, 50));

    /** In a full run, the slowest way completes a thousand requests. */
    private static Duration length(boolean quick) {
        return Duration.ofSeconds(quick ? 6 : 25);
    }

    @Override
    public Estimate estimate(boolean quick, boolean remote) {
        return new Estimate(
                ALL.size() + 2,
                length(quick).plusSeconds(3).multipliedBy(ALL.size()).plusSeconds(50));
    }

    @Override
    public int processes() {
        return 2;
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        TestServers servers = new TestServers(context);
        RunningServer called = servers.ready(servers.simulator("asked", "webflux-r2dbc"), "/delay?ms=1");
        double slowest = measure(20, called, servers, context).mean("tomcat-20");
        ClosedRounds others = measure(50, called, servers, context);
        double fifty = others.mean("tomcat-50");
        double virtual = others.mean("virtual");
        double parallel = others.mean("virtual-parallel");
        context.require(
                "fewer threads that wait take longer: tomcat-20 > tomcat-50 > virtual",
                slowest > fifty && fifty > virtual,
                String.format(Locale.ROOT, "%.0f, %.0f, %.0f ms", slowest, fifty, virtual));
        context.require(
                "two calls in parallel take less time than one after the other: virtual > virtual-parallel",
                virtual > parallel,
                String.format(Locale.ROOT, "%.0f, %.0f ms", virtual, parallel));
    }

    private static ClosedRounds measure(
            int threads, RunningServer called, TestServers servers, ExperimentContext context)
            throws InterruptedException {
        String call = called.url() + "/delay?ms=" + CALL_MILLIS;
        RunningServer service = servers.simulator(
                "service", "mvc-jdbc", "--sim.fanout.threads=" + threads, "--sim.fanout.services=" + call + ',' + call);
        servers.ready(service, "/delay?ms=1");
        ClosedRounds rounds =
                new ClosedRounds(context).warmUp("/fanout/virtual?parallel=true", CALLERS, Duration.ofSeconds(6));
        for (Way way : ALL) {
            if (way.threads() == threads) {
                rounds.then(
                        RequestMode.REPEAT,
                        way.label(),
                        way.path(),
                        CALLERS,
                        length(context.quick()),
                        LoadAssertion.ALL_SUCCEED,
                        way.notFasterThanTheCalls());
            }
        }
        rounds.run(service, threads + "-threads", "fanout");
        context.stop(service);
        return rounds;
    }
}
