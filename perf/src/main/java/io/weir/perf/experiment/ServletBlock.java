package io.weir.perf.experiment;

import io.weir.perf.experiment.ClosedRounds.RequestMode;
import io.weir.perf.result.Requests;
import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.LoadAssertion;
import java.time.Duration;
import java.util.List;

/**
 * Requests of two seconds at a Tomcat with one thread. {@code /block} holds the thread, so requests are
 * served one after the other; {@code /deferred} and {@code /completable} give it back, so they are served at
 * the same time. Then 150 users block a thread for 10 ms each, and think for a second after each answer: 150
 * servlet threads serve no more of them than 5.
 */
@Measures(
        name = "servlet-block",
        question = "requests of 2 s with one servlet thread: block, deferred, completable? 150 or 5 threads?",
        quickMinutes = 2,
        fullMinutes = 6)
final class ServletBlock extends ClosedExperiment {

    private static final int REQUESTS = 100;
    private static final int JOB_SECONDS = 2;
    private static final int USERS = 150;
    private static final Duration THINK_TIME = Duration.ofSeconds(1);
    private static final LoadAssertion ALL = LoadAssertion.ALL_SUCCEED;

    static String[] oneThread(String jobTime, int jobThreads) {
        return threads(1, jobTime, jobThreads);
    }

    private static String[] threads(int count, String jobTime, int jobThreads) {
        return new String[] {
            "--server.tomcat.threads.max=" + count,
            "--server.tomcat.threads.min-spare=" + count,
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
        return List.of(
                new ClosedRounds("one-thread", "job", "mvc-jdbc", oneThread(JOB_SECONDS + "s", REQUESTS))
                        .warmUp("/delay?ms=1", 1, 5)
                        .then(once, "block", "/block", blocking, blocking * JOB_SECONDS + 4, ALL, oneByOne)
                        .then(once, "deferred", "/deferred", REQUESTS, 6, ALL, sameTime)
                        .then(once, "completable", "/completable", REQUESTS, 6, ALL, sameTime),
                manyUsers(5, quick ? 8 : 60),
                manyUsers(150, quick ? 8 : 60));
    }

    /** All users together keep fewer than two threads busy. */
    private static ClosedRounds manyUsers(int threads, int seconds) {
        String label = threads + "-threads";
        return new ClosedRounds(label, "job", "mvc-jdbc", threads(threads, "10ms", USERS))
                .readyAt("/block")
                .warmUp("/block", threads, 8)
                .thinkTime(THINK_TIME)
                .then(label, "/block", USERS, seconds, ALL);
    }

    @Override
    void record(List<ClosedRounds> services, ExperimentContext context) {
        ClosedRounds rounds = services.getFirst();
        Requests blocking = rounds.requests("block");
        context.fact("block.each", blocking.seconds() / blocking.size(), "s");
        context.fact("deferred.all", rounds.requests("deferred").seconds(), "s");
        context.fact("completable.all", rounds.requests("completable").seconds(), "s");
    }
}
