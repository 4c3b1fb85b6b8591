package io.weir.perf.experiment;

import io.weir.perf.run.Bench;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Fleet;
import java.time.Duration;

/**
 * WebFlux with one event loop, and Spring MVC with one request thread, each a service that takes 100 ms without holding that thread: WebFlux by waiting on a timer, MVC
 * by handing the job to a thread of its own and giving the request thread back.
 */
final class EventLoop implements Experiment {

    private static final int USERS = 100;

    private static Duration each(boolean quick) {
        return Duration.ofSeconds(quick ? 12 : 60);
    }

    @Override
    public String name() {
        return "eventloop";
    }

    @Override
    public String question() {
        return "one event loop or one request thread, 100 ms delay, 100 users: what does it cost?";
    }

    @Override
    public int steps(boolean quick) {
        return 4;
    }

    @Override
    public Duration length(boolean quick) {
        return each(quick).plusSeconds(25).multipliedBy(2);
    }

    @Override
    public int processes() {
        return 1;
    }

    @Override
    public void run(Bench bench) throws InterruptedException {
        Simulators simulators = new Simulators(bench);
        ask(
                bench,
                "webflux",
                "/delay?ms=100",
                simulators.ofStack("webflux-r2dbc", "/delay?ms=1", "--sim.netty.workers=1"));
        ask(
                bench,
                "mvc",
                "/deferred",
                simulators.ofStack(
                        "mvc-jdbc",
                        "/deferred",
                        "--server.tomcat.threads.max=1",
                        "--server.tomcat.threads.min-spare=1",
                        "--sim.job.time=100ms",
                        "--sim.job.compute-share=0",
                        "--sim.job.threads=" + USERS));
    }

    private static void ask(Bench bench, String label, String path, Fleet.Server service) throws InterruptedException {
        new Rounds(bench, "DoesOneEventLoopDoWhatOneThreadDoes")
                .warmUp(path, USERS, Duration.ofSeconds(8))
                .then(label, path, USERS, each(bench.quick()))
                .ask(service, label, "delay");
        bench.stop(service);
    }
}
