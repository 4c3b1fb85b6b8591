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

/**
 * 300 callers, each on a virtual thread, want one of ten connections for 50 ms. HikariCP lets them wait for
 * half a second, so some fail. A semaphore in front admits ten at a time, so none fails.
 */
@ExperimentName("virtual-hikari")
@Question("virtual threads on a small pool, without and with the semaphore: which requests fail?")
final class VirtualHikari extends Experiment {

    private static final int CALLERS = 300;
    private static final String PATH = "/connections?guard=";

    private static Duration length(boolean quick) {
        return Duration.ofSeconds(quick ? 10 : 60);
    }

    @Override
    public Estimate estimate(boolean quick, boolean remote) {
        return new Estimate(3, length(quick).multipliedBy(2).plusSeconds(30));
    }

    @Override
    public int processes() {
        return 2;
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        RunningServer service = new TestServers(context).service("mvc-jdbc-virtual", PATH + "none");
        Duration length = length(context.quick());
        new ClosedRounds(context)
                .warmUp(PATH + "none", 10, Duration.ofSeconds(5))
                .then(RequestMode.REPEAT, "none", PATH + "none", CALLERS, length, LoadAssertion.SOME_FAIL)
                .then(RequestMode.REPEAT, "semaphore", PATH + "semaphore", CALLERS, length, LoadAssertion.ALL_SUCCEED)
                .run(service, "ten-connections", "connections");
    }
}
