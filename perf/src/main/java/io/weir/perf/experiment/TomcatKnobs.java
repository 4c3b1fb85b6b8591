package io.weir.perf.experiment;

import io.weir.perf.run.Bench;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Fleet;
import io.weir.perf.run.Request;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/**
 * Tomcat's three limits and 150 users who keep their connections, at a service of 100 ms: more than it has threads for wait in Tomcat; more than it may have connections for wait in
 * the kernel, connected and unanswered; more than may wait there cannot connect. Who gives up is not taken from the kernel's queue, so after their patience's time callers
 * find it full, and cannot connect either. The last settings are not the original's: there some cannot from the beginning.
 */
final class TomcatKnobs implements Experiment {

    private static final int USERS = 150;
    private static final Duration PATIENCE = Duration.ofSeconds(4);
    private static final String PATH = "/delay?ms=100";

    /**
     * Settings.
     *
     * @param threads {@code threads.max}
     * @param connections {@code max-connections}
     * @param waiting {@code accept-count}
     */
    private record Knobs(int threads, int connections, int waiting) {

        String label() {
            return threads + "-" + connections + "-" + waiting;
        }
    }

    private static final List<Knobs> ALL =
            List.of(new Knobs(200, 8192, 100), new Knobs(50, 150, 50), new Knobs(50, 100, 50), new Knobs(50, 100, 10));

    private static Duration each(boolean quick) {
        return Duration.ofSeconds(quick ? 10 : 60);
    }

    @Override
    public String name() {
        return "tomcat-knobs";
    }

    @Override
    public String question() {
        return "threads.max, max-connections, accept-count and 150 users: what does a client see at each overflow?";
    }

    @Override
    public int steps(boolean quick) {
        return 2 * ALL.size();
    }

    @Override
    public Duration length(boolean quick) {
        return each(quick).plusSeconds(25).multipliedBy(ALL.size());
    }

    @Override
    public int processes() {
        return 1;
    }

    @Override
    public void run(Bench bench) throws InterruptedException {
        Simulators simulators = new Simulators(bench);
        double whole = 0;
        for (Knobs knobs : ALL) {
            Fleet.Server service = simulators.ofStack(
                    "mvc-jdbc",
                    "/delay?ms=1",
                    "--server.tomcat.threads.max=" + knobs.threads(),
                    "--server.tomcat.max-connections=" + knobs.connections(),
                    "--server.tomcat.accept-count=" + knobs.waiting());
            Rounds rounds = new Rounds(bench, "WhatDoClientsSeeWhenTomcatOverflows")
                    .patience(PATIENCE)
                    .warmUp(PATH, knobs.threads(), Duration.ofSeconds(6))
                    // Those who are first in the kernel's queue are not to be missed: later callers find it full of who
                    // has left.
                    .fromTheFirst(knobs.label(), PATH, USERS, each(bench.quick()));
            rounds.ask(service, knobs.label(), "delay");
            bench.stop(service);
            List<Request> requests = rounds.of(knobs.label());
            double served = requests.stream().filter(Request::succeeded).count();
            if (knobs.threads() == 50 && whole == 0) {
                whole = served;
            } else if (whole > 0) {
                bench.fact(String.format(Locale.ROOT, "%s.of-50-150-50", knobs.label()), 100 * served / whole, "%");
            }
        }
    }
}
