package io.weir.perf.experiment;

import io.weir.perf.experiment.ClosedRounds.RequestMode;
import io.weir.perf.result.Request;
import io.weir.perf.run.Experiment.ExperimentName;
import io.weir.perf.run.Experiment.Question;
import io.weir.perf.run.Experiment.UnderTest;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.LoadAssertion;
import java.util.List;

/**
 * Requests of two seconds at a Tomcat with one thread. {@code /block} holds the thread, so requests are
 * served one after the other; {@code /deferred} and {@code /completable} give it back, so they are served at
 * the same time.
 */
@ExperimentName("servlet-block")
@Question("requests of 2 s with one servlet thread: block, deferred, completable?")
@UnderTest
final class ServletBlock extends ClosedExperiment {

    private static final int REQUESTS = 100;
    private static final int JOB_SECONDS = 2;
    private static final LoadAssertion ALL = LoadAssertion.ALL_SUCCEED;

    /** A Tomcat with one thread, and a job that other threads wait for. */
    static String[] oneThread(String jobTime, int jobThreads) {
        return new String[] {
            "--server.tomcat.threads.max=1",
            "--server.tomcat.threads.min-spare=1",
            "--sim.job.time=" + jobTime,
            "--sim.job.compute-share=0",
            "--sim.job.threads=" + jobThreads
        };
    }

    @Override
    List<ClosedRounds> services(boolean quick) {
        // A quick run blocks less often, because each request takes two seconds.
        int blocking = quick ? 10 : REQUESTS;
        LoadAssertion oneByOne = LoadAssertion.atLeast("max", 950L * blocking * JOB_SECONDS);
        LoadAssertion sameTime = LoadAssertion.below("max", 2000L * JOB_SECONDS);
        RequestMode once = RequestMode.ONCE;
        return List.of(new ClosedRounds("one-thread", "job", "mvc-jdbc", oneThread(JOB_SECONDS + "s", REQUESTS))
                .warmUp("/delay?ms=1", 1, 5)
                .then(once, "block", "/block", blocking, blocking * JOB_SECONDS + 4, ALL, oneByOne)
                .then(once, "deferred", "/deferred", REQUESTS, 6, ALL, sameTime)
                .then(once, "completable", "/completable", REQUESTS, 6, ALL, sameTime));
    }

    @Override
    void record(List<ClosedRounds> services, ExperimentContext context) {
        ClosedRounds rounds = services.getFirst();
        List<Request> blocking = rounds.requests("block");
        context.fact("block.each", seconds(blocking) / blocking.size(), "s");
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
