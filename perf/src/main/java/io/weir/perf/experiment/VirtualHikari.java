package io.weir.perf.experiment;

import io.weir.perf.run.Bench;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Fleet;
import java.time.Duration;

/** 300 callers, each on a virtual thread, want one of ten connections for 50 ms; HikariCP lets them wait for half a second. With a semaphore in front, only ten ask it at a time. */
final class VirtualHikari implements Experiment {

    private static final int CALLERS = 300;

    private static Duration each(boolean quick) {
        return Duration.ofSeconds(quick ? 10 : 60);
    }

    @Override
    public String name() {
        return "virtual-hikari";
    }

    @Override
    public String question() {
        return "virtual threads on a small pool, without and with the semaphore: who fails?";
    }

    @Override
    public int steps(boolean quick) {
        return 3;
    }

    @Override
    public Duration length(boolean quick) {
        return each(quick).multipliedBy(2).plusSeconds(30);
    }

    @Override
    public int processes() {
        return 2;
    }

    @Override
    public void run(Bench bench) throws InterruptedException {
        Fleet.Server service = new Simulators(bench).ofStack("mvc-jdbc-virtual", "/connections?guard=none");
        new Rounds(bench, "WhatStopsVirtualThreads")
                .warmUp("/connections?guard=none", 10, Duration.ofSeconds(5))
                .then("none", "/connections?guard=none", CALLERS, each(bench.quick()))
                .then("semaphore", "/connections?guard=semaphore", CALLERS, each(bench.quick()))
                .ask(service, "ten-connections", "connections");
    }
}
