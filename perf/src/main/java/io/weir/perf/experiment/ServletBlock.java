package io.weir.perf.experiment;

import io.weir.perf.experiment.ClosedRounds.RequestMode;
import io.weir.perf.result.Request;
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
 * Requests of two seconds at a Tomcat with one thread. {@code /block} holds the thread, so requests are
 * served one after the other; {@code /deferred} and {@code /completable} give it back, so they are served at
 * the same time.
 */
@ExperimentName("servlet-block")
@Question("requests of 2 s with one servlet thread: block, deferred, completable?")
final class ServletBlock extends Experiment {

    private static final int REQUESTS = 100;
    private static final long JOB_SECONDS = 2;

    /** A quick run blocks less often, because each request takes two seconds. */
    private static int blockingRequests(boolean quick) {
        return quick ? 10 : REQUESTS;
    }

    @Override
    public Estimate estimate(boolean quick, boolean remote) {
        return new Estimate(4, Duration.ofSeconds(blockingRequests(quick) * JOB_SECONDS + 42));
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        RunningServer service = new TestServers(context)
                .service(
                        "mvc-jdbc",
                        "/delay?ms=1",
                        "--server.tomcat.threads.max=1",
                        "--server.tomcat.threads.min-spare=1",
                        "--sim.job.time=" + JOB_SECONDS + "s",
                        "--sim.job.compute-share=0",
                        "--sim.job.threads=" + REQUESTS);
        int blocking = blockingRequests(context.quick());
        LoadAssertion oneByOne = LoadAssertion.atLeast("max", blocking * JOB_SECONDS * 1000 * 95 / 100);
        LoadAssertion sameTime = LoadAssertion.below("max", 2 * JOB_SECONDS * 1000);
        LoadAssertion all = LoadAssertion.ALL_SUCCEED;
        Duration blockingLength = Duration.ofSeconds(blocking * JOB_SECONDS + 4);
        Duration length = Duration.ofSeconds(6);
        ClosedRounds rounds = new ClosedRounds(context)
                .warmUp("/delay?ms=1", 1, Duration.ofSeconds(5))
                .then(RequestMode.ONCE, "block", "/block", blocking, blockingLength, all, oneByOne)
                .then(RequestMode.ONCE, "deferred", "/deferred", REQUESTS, length, all, sameTime)
                .then(RequestMode.ONCE, "completable", "/completable", REQUESTS, length, all, sameTime);
        rounds.run(service, "one-thread", "job");
        context.fact("block.each", seconds(rounds.requests("block")) / blocking, "s");
        context.fact("deferred.all", seconds(rounds.requests("deferred")), "s");
        context.fact("completable.all", seconds(rounds.requests("completable")), "s");
    }

    /** From the first request to the last answer. */
    private static double seconds(List<Request> requests) {
        long began = requests.stream().mapToLong(Request::atMillis).min().orElse(0);
        double ended = requests.stream().mapToDouble(Request::endMillis).max().orElse(0);
        return (ended - began) / 1000;
    }
}
