package io.weir.perf.experiment;

import io.weir.perf.run.Bench;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Fleet;
import io.weir.perf.run.Request;
import java.time.Duration;
import java.util.List;

/**
 * Requests of two seconds at a Tomcat with one thread: {@code /block} holds it, {@code /deferred} and {@code /completable} hand the job to a thread of its own. A quick run asks the first
 * ten times instead of a hundred, since it takes two seconds each.
 */
final class ServletBlock implements Experiment {

    private static final int REQUESTS = 100;
    private static final long JOB_SECONDS = 2;

    private static int blocking(boolean quick) {
        return quick ? 10 : REQUESTS;
    }

    @Override
    public String name() {
        return "servlet-block";
    }

    @Override
    public String question() {
        return "requests of 2 s with one servlet thread: block, deferred, completable?";
    }

    @Override
    public int steps(boolean quick) {
        return 4;
    }

    @Override
    public Duration length(boolean quick) {
        return Duration.ofSeconds(blocking(quick) * JOB_SECONDS + 42);
    }

    @Override
    public int processes() {
        return 1;
    }

    @Override
    public void run(Bench bench) throws InterruptedException {
        Fleet.Server service = new Simulators(bench)
                .ofStack(
                        "mvc-jdbc",
                        "/delay?ms=1",
                        "--server.tomcat.threads.max=1",
                        "--server.tomcat.threads.min-spare=1",
                        "--sim.job.time=" + JOB_SECONDS + "s",
                        "--sim.job.compute-share=0",
                        "--sim.job.threads=" + REQUESTS);
        int blocking = blocking(bench.quick());
        Rounds rounds = new Rounds(bench, "WhoHoldsTheServletThread")
                .warmUp("/delay?ms=1", 1, Duration.ofSeconds(5))
                .once("block", "/block", blocking, Duration.ofSeconds(blocking * JOB_SECONDS + 4))
                .once("deferred", "/deferred", REQUESTS, Duration.ofSeconds(6))
                .once("completable", "/completable", REQUESTS, Duration.ofSeconds(6));
        rounds.ask(service, "one-thread", "job");
        bench.fact("block.each", seconds(rounds.of("block")) / blocking, "s");
        bench.fact("deferred.all", seconds(rounds.of("deferred")), "s");
        bench.fact("completable.all", seconds(rounds.of("completable")), "s");
    }

    /** From the first request to the last answer. */
    private static double seconds(List<Request> requests) {
        long began = requests.stream().mapToLong(Request::atMillis).min().orElse(0);
        double ended = requests.stream()
                .mapToDouble(one -> one.atMillis() + one.micros() / 1000.0)
                .max()
                .orElse(0);
        return (ended - began) / 1000;
    }
}
