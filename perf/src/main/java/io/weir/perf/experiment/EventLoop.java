package io.weir.perf.experiment;

import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.ExperimentName;
import io.weir.perf.run.Experiment.Question;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.TestServers;
import java.time.Duration;

/**
 * A service that takes 100 ms, on WebFlux with one event loop and on Spring MVC with one request thread.
 * Neither holds that thread: WebFlux waits on a timer, MVC hands the job to another thread.
 */
@ExperimentName("eventloop")
@Question("one event loop or one request thread, 100 ms delay, 100 users: what does it cost?")
final class EventLoop extends Experiment {

    private static final int USERS = 100;

    /** If the users were served one after the other, they would wait up to ten seconds. */
    private static final long NOT_QUEUED_MILLIS = 1000;

    private static Duration length(boolean quick) {
        return Duration.ofSeconds(quick ? 12 : 60);
    }

    @Override
    public Estimate estimate(boolean quick, boolean remote) {
        return new Estimate(4, length(quick).plusSeconds(25).multipliedBy(2));
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        TestServers servers = new TestServers(context);
        RunningServer webflux = servers.service("webflux-r2dbc", "/delay?ms=1", "--sim.netty.workers=1");
        measure("webflux", "/delay?ms=100", webflux, context);
        RunningServer mvc = servers.service(
                "mvc-jdbc",
                "/deferred",
                "--server.tomcat.threads.max=1",
                "--server.tomcat.threads.min-spare=1",
                "--sim.job.time=100ms",
                "--sim.job.compute-share=0",
                "--sim.job.threads=" + USERS);
        measure("mvc", "/deferred", mvc, context);
    }

    private static void measure(String label, String path, RunningServer service, ExperimentContext context)
            throws InterruptedException {
        new ClosedRounds(context)
                .warmUp(path, USERS, Duration.ofSeconds(8))
                .then(
                        ClosedRounds.RequestMode.REPEAT,
                        label,
                        path,
                        USERS,
                        length(context.quick()),
                        LoadAssertion.ALL_SUCCEED,
                        LoadAssertion.below("p90", NOT_QUEUED_MILLIS))
                .run(service, label, "delay");
        context.stop(service);
    }
}
