package io.weir.perf.experiment;

import io.weir.perf.run.Bench;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Fleet;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/**
 * A hundred callers of a service that asks two others for 200 ms each, in six ways. {@code tomcat-20} and {@code tomcat-50} have so many platform threads, each of which waits for both answers, one
 * after the other; the rest has a thread for everybody, or none.
 */
final class VirtualThreads implements Experiment {

    private static final int CALLERS = 100;

    /** A way of asking; those that share a service have the same number of platform threads. */
    private record Way(String label, String path, int threads) {}

    private static final List<Way> ALL = List.of(
            new Way("tomcat-20", "/fanout/platform?parallel=false", 20),
            new Way("tomcat-50", "/fanout/platform?parallel=false", 50),
            new Way("virtual", "/fanout/virtual?parallel=false", 50),
            new Way("virtual-parallel", "/fanout/virtual?parallel=true", 50),
            new Way("webclient", "/fanout/webclient?parallel=true", 50),
            new Way("coroutines", "/fanout/coroutines?parallel=true", 50));

    /** A thousand requests of the slowest way take twenty seconds. */
    private static Duration each(boolean quick) {
        return Duration.ofSeconds(quick ? 6 : 25);
    }

    @Override
    public String name() {
        return "virtual-threads";
    }

    @Override
    public String question() {
        return "100 concurrent, two calls of 200 ms: Tomcat 20, 50, virtual, virtual in parallel, WebClient, coroutines?";
    }

    @Override
    public int steps(boolean quick) {
        return ALL.size() + 2;
    }

    @Override
    public Duration length(boolean quick) {
        return each(quick).plusSeconds(3).multipliedBy(ALL.size()).plusSeconds(50);
    }

    @Override
    public int processes() {
        return 2;
    }

    @Override
    public void run(Bench bench) throws InterruptedException {
        Simulators simulators = new Simulators(bench);
        Fleet.Server asked = simulators.beside("asked", "webflux-r2dbc", "/delay?ms=1");
        double slowest = ask(bench, simulators, asked, 20).mean("tomcat-20");
        Rounds others = ask(bench, simulators, asked, 50);
        double fifty = others.mean("tomcat-50");
        double virtual = others.mean("virtual");
        double parallel = others.mean("virtual-parallel");
        bench.mustHold(
                "the fewer threads there are to wait, the longer it takes: tomcat-20 > tomcat-50 > virtual",
                slowest > fifty && fifty > virtual,
                String.format(Locale.ROOT, "%.0f, %.0f, %.0f ms", slowest, fifty, virtual));
        bench.mustHold(
                "asking both at once takes less time than one after the other: virtual > virtual-parallel",
                virtual > parallel,
                String.format(Locale.ROOT, "%.0f, %.0f ms", virtual, parallel));
    }

    private static Rounds ask(Bench bench, Simulators simulators, Fleet.Server asked, int threads)
            throws InterruptedException {
        String two = asked.url() + "/delay?ms=200";
        Fleet.Server service = simulators.whole(
                "mvc-jdbc",
                "/delay?ms=1",
                "--sim.fanout.threads=" + threads,
                "--sim.fanout.services=" + two + ',' + two);
        Rounds rounds = new Rounds(bench, "WhatDoesWaitingCost")
                .warmUp("/fanout/virtual?parallel=true", CALLERS, Duration.ofSeconds(6));
        ALL.stream()
                .filter(way -> way.threads() == threads)
                .forEach(way -> rounds.then(way.label(), way.path(), CALLERS, each(bench.quick())));
        rounds.ask(service, threads + "-threads", "fanout");
        bench.stop(service);
        return rounds;
    }
}
