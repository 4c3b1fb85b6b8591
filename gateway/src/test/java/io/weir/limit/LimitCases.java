package io.weir.limit;

import io.weir.limit.LimitSimulation.Event;
import io.weir.limit.LimitSimulation.Kind;
import io.weir.limit.LimitSimulation.LimitFactory;
import io.weir.limit.LimitSimulation.Phase;
import io.weir.limit.LimitSimulation.Result;
import io.weir.limit.LimitSimulation.Service;
import io.weir.limit.LimitSimulation.Setup;
import io.weir.limit.LimitSimulation.Stream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/**
 * The cases, in addition to the grid, that judge the adaptive limit and the queue: overload, changes of the
 * backend, calm traffic, retries, several gateways, priorities, tenants. Each case measures one figure as the
 * median of some runs, and has a bound for it.
 */
final class LimitCases {

    /** Seeds that were not used for fitting. */
    static final List<Long> SEEDS = List.of(20_241L, 20_242L, 20_243L, 20_244L, 20_245L);

    /**
     * One figure of one simulation.
     *
     * @param bound asserted; below {@code wanted} (or above it, if {@code atMost}) where the simulation
     *     misses it
     * @param heavy whether it takes more than a second or two, and is left to the full grid
     */
    record Case(
            String name,
            Supplier<Setup> setup,
            ToDoubleFunction<LimitSimulation> figure,
            boolean atMost,
            double wanted,
            double bound,
            boolean heavy) {

        double median(List<Long> seeds) {
            double[] figures = seeds.stream()
                    .mapToDouble(
                            seed -> figure.applyAsDouble(setup.get().seed(seed).run()))
                    .sorted()
                    .toArray();
            return figures[figures.length / 2];
        }

        boolean isWanted(double measured) {
            return atMost ? measured <= wanted : measured >= wanted;
        }

        @Override
        public String toString() {
            return name;
        }
    }

    private LimitCases() {}

    static LimitFactory adaptive() {
        return adaptive(0);
    }

    /** Gateways whose wall clocks differ. */
    static LimitFactory adaptive(double clockSkew) {
        return (deadline, gateway, onChange) -> new AdaptiveLimit(
                LimitBounds.DEFAULT,
                (long) (deadline * 1e9),
                0,
                (long) (1e9 * (1_000 + clockSkew * gateway)),
                onChange);
    }

    static List<Case> all() {
        return List.of(
                overload(10, .05, .97, .97),
                overload(2, .05, .75, .75),
                overload(1, .02, .75, .75),
                overload(4, .2, .90, .90),
                heavy(overload(40, .02, .90, .90)),
                atLeast("20 callers, 1.2 s of 2 s: answered", callers(20), 300, 300, LimitCases::allAnswered),
                atMost("20 callers, 1.2 s of 2 s: refused or late", callers(20), 10, 10, LimitCases::allLost),
                atLeast(
                        "20 callers, 1.2 s of 2 s, cold by 300 ms: answered",
                        cold(300),
                        300,
                        300,
                        LimitCases::allAnswered),
                atMost("20 callers, 1.2 s of 2 s, cold by 300 ms: lost", cold(300), 10, 10, LimitCases::allLost),
                atMost("20 callers, 1.2 s of 2 s, cold by 600 ms: lost", cold(600), 10, 20, LimitCases::allLost),
                atLeast(
                        "100 callers, 1.2 s of 2 s: share answered from 7 s on",
                        callers(100),
                        .99,
                        .99,
                        s -> answered(s, 1, 1)),
                atLeast(
                        "20 x 1.2 s of 2 s: goodput in the overload",
                        slowOverload(),
                        .75,
                        .75,
                        s -> goodput(s, 1, 20 / 1.2)),
                atLeast("20 x 1.2 s of 2 s: after the overload", slowOverload(), .985, .97, s -> answered(s, 2, 2)),
                atMost(
                        "1.2 s of 2 s, hang of 15 s: mean limit, times that before",
                        LimitCases::slowHang,
                        1,
                        1,
                        s -> s.results.get(1).meanLimit() / s.results.get(0).meanLimit()),
                atMost(
                        "10 x 50 ms overload: p99 of answers, ms",
                        overloaded(10, .05),
                        150,
                        300,
                        s -> 1e3 * s.results.get(1).percentile(.99)),
                atLeast(
                        "10 x 50 ms after the overload: answered",
                        overloaded(10, .05),
                        .995,
                        .995,
                        s -> s.results.get(2).answeredShare()),
                atMost("10 x 50 ms calm: refused", overloaded(10, .05), .005, .005, LimitCases::refusedInCalm),
                atMost("4 x 200 ms calm: refused", overloaded(4, .2), .005, .03, LimitCases::refusedInCalm),
                atLeast("workers halved for 20 s", halved(150), .97, .97, s -> goodput(s, 1, 100)),
                atLeast("workers halved for 20 s, in overload", halved(400), .97, .97, s -> goodput(s, 1, 100)),
                atLeast("latency x 4, 150/s: over 20 s", slower(150), .90, .90, s -> answered(s, 1, 2)),
                atLeast("latency x 4, 150/s: from 4 s on", slower(150), .98, .98, s -> answered(s, 2, 2)),
                atLeast("latency x 4, 250/s: over 20 s", slower(250), .90, .90, s -> answered(s, 1, 2)),
                atLeast("latency x 4, 250/s: from 4 s on", slower(250), .98, .98, s -> answered(s, 2, 2)),
                atMost(
                        "hang of 15 s: mean limit, times that before",
                        LimitCases::hang,
                        1,
                        1,
                        s -> s.results.get(1).meanLimit() / s.results.get(0).meanLimit()),
                atLeast(
                        "hang of 15 s: from 2 s after the heal on",
                        LimitCases::hang,
                        .985,
                        .985,
                        s -> answered(s, 3, 3)),
                atLeast("hang of 15 s: from the heal on", LimitCases::hang, .985, .95, s -> answered(s, 2, 3)),
                atMost("calm, 2/s: refused", constant(4, 2, 1, 60), 0, 0, s -> refused(s, 0)),
                atMost("calm, bursts of 10, 50/s: refused", constant(10, 50, 10, 30), 0, 0, s -> refused(s, 0)),
                atMost("cold JVM, then bursts of 10: refused", LimitCases::cold, 0, 0, s -> refused(s, 1)),
                atMost("5 and 200 ms, 3:1, 1:3, 3:1, 100/s: refused", mix(.2, 100), 0, 0, LimitCases::shareLost),
                atMost("5 and 400 ms, 3:1, 1:3, 3:1, 100/s: refused", mix(.4, 100), 0, 0, LimitCases::shareLost),
                atMost("5 and 200 ms, 3:1, 1:3, 3:1, 200/s: refused", mix(.2, 200), 0, 0, LimitCases::shareLost),
                atMost("5 and 200 ms, 3:1, 1:3, 3:1, 1000/s: refused", mix(.2, 1_000), 0, 0, LimitCases::shareLost),
                atLeast(
                        "60 of 100 calls/s take 1 s and not 20 ms: answered over 20 s",
                        slowRoute(40, 60, 1),
                        1,
                        1,
                        s -> answered(s, 1, 1)),
                atLeast(
                        "30 of 300 calls/s take 1.5 s and not 20 ms: answered over 20 s",
                        slowRoute(270, 30, 1.5),
                        .98,
                        .98,
                        s -> answered(s, 1, 1)),
                atMost(
                        "200 at once of 300 ms, beside 300/s of 10 ms: refused",
                        LimitCases::batch,
                        0,
                        0,
                        LimitCases::shareLost),
                atMost(
                        "300/s of 5 ms, then 100/s of 200 ms beside them: refused",
                        LimitCases::slowerNeighbour,
                        0,
                        0,
                        LimitCases::shareLost),
                atMost(
                        "median 20 ms, p99 1.5 s of 2 s, 100/s: refused",
                        LimitCases::heavyTail,
                        .005,
                        .005,
                        s -> refused(s, 0)),
                atLeast(
                        "1 to 600 ms within 60 s, 100/s: answered",
                        LimitCases::slowerByAndBy,
                        .99,
                        .99,
                        s -> answered(s, 1, 1)),
                atMost("ramp x 20 at 50 ms: refused", ramp(64, .05), 0, 0, LimitCases::refusedInRamp),
                atMost("ramp x 20 at 200 ms: refused", ramp(300, .2), .05, .06, LimitCases::refusedInRamp),
                atLeast("callers retry three times: overload", LimitCases::retries, .9, .9, s -> goodput(s, 1, 200)),
                atLeast(
                        "callers retry three times: from 5 s after it on",
                        LimitCases::retries,
                        .995,
                        .99,
                        s -> answered(s, 3, 3)),
                atLeast("four gateways: overload", four(10, .05, 0), .95, .95, s -> goodput(s, 1, 200)),
                atMost("four gateways: most over least", four(10, .05, 0), 2, 2, LimitCases::mostOverLeast),
                atLeast("four gateways, clocks 200 ms apart", four(10, .05, .2), .9, .9, s -> goodput(s, 1, 200)),
                heavy(atMost(
                        "four gateways, 64 x 20 ms: most over least",
                        four(64, .02, 0),
                        2,
                        5,
                        LimitCases::mostOverLeast)),
                atLeast(
                        "priorities: critical answered",
                        priorities(false),
                        .999,
                        .999,
                        s -> s.byPriority.get(0).get(1).answeredShare()),
                atLeast(
                        "priorities: sheddable, share of the capacity",
                        priorities(false),
                        .01,
                        .01,
                        s -> s.byPriority.get(2).get(1).answered / (200. * 30)),
                atLeast(
                        "priorities: all classes, share of the capacity",
                        priorities(false),
                        .98,
                        .98,
                        s -> goodput(s, 1, 200)),
                atLeast(
                        "priorities: normal, share of what critical and the reserve leave",
                        priorities(false),
                        .98,
                        .98,
                        LimitCases::normalOfTheRest),
                atLeast(
                        "priorities: all classes, of those without classes",
                        priorities(false),
                        .99,
                        .99,
                        s -> goodput(s, 1, 200)
                                / goodput(priorities(true).get().seed(s.seed()).run(), 1, 200)),
                atLeast(
                        "priorities, hang in the overload: critical, share of the permits",
                        LimitCases::prioritiesAndHang,
                        .97,
                        .97,
                        s -> (double) s.byPriority.get(0).get(1).timedOut / s.results.get(1).timedOut),
                atLeast(
                        "priorities, hang in the overload: critical from 2 s after the heal on",
                        LimitCases::prioritiesAndHang,
                        .999,
                        .999,
                        s -> s.byPriority.get(0).get(3).answeredShare()),
                atLeast("no priorities: share of the capacity", priorities(true), .98, .98, s -> goodput(s, 1, 200)),
                atLeast(
                        "tenants of 3 % beside one of 91 %: answered",
                        tenants(.91, .03, .03, .03), .98, .98, s -> leastAnswered(s, 1, 4)),
                atLeast(
                        "tenants of 3 % beside 70 % and 21 %: answered",
                        tenants(.70, .21, .03, .03, .03), .98, .98, s -> leastAnswered(s, 2, 5)),
                atLeast(
                        "tenant of 21 % beside 70 %: of its share",
                        tenants(.70, .21, .03, .03, .03), .98, .98, LimitCases::shareOfTheSecond),
                atLeast("a tenant alone: share of the capacity", tenants(1), .98, .98, s -> goodput(s, 1, 200)),
                atLeast(
                        "tenants: share of the capacity",
                        tenants(.91, .03, .03, .03),
                        .98,
                        .98,
                        s -> goodput(s, 1, 200)));
    }

    private static Case atLeast(
            String name, Supplier<Setup> setup, double wanted, double bound, ToDoubleFunction<LimitSimulation> figure) {
        return new Case(name, setup, figure, false, wanted, bound, false);
    }

    private static Case atMost(
            String name, Supplier<Setup> setup, double wanted, double bound, ToDoubleFunction<LimitSimulation> figure) {
        return new Case(name, setup, figure, true, wanted, bound, false);
    }

    private static Case heavy(Case light) {
        return new Case(light.name, light.setup, light.figure, light.atMost, light.wanted, light.bound, true);
    }

    private static Case overload(int workers, double service, double wanted, double bound) {
        return atLeast(
                "%d x %.0f ms: goodput in the overload".formatted(workers, 1e3 * service),
                overloaded(workers, service),
                wanted,
                bound,
                s -> goodput(s, 1, workers / service));
    }

    // ---- setups

    private static Setup fifo(int workers, double service) {
        return new Setup()
                .backend(Kind.FIFO, workers, service, Service.DETERMINISTIC)
                .limit(adaptive());
    }

    private static Supplier<Setup> overloaded(int workers, double service) {
        double capacity = workers / service;
        return () -> fifo(workers, service)
                .phases(new Phase(6, .75 * capacity), new Phase(15, 4 * capacity), new Phase(12, .75 * capacity));
    }

    /** Callers in a closed loop, and a backend that takes longer than half the deadline at any load. */
    private static Supplier<Setup> callers(int number) {
        return () -> {
            Setup setup = fifo(10_000, 1.2).phases(new Phase(7, 0), new Phase(13, 0));
            setup.deadline = 2;
            setup.callers = number;
            return setup;
        };
    }

    /** The calls of the first seconds take longer, by up to so many milliseconds. */
    private static Supplier<Setup> cold(int millis) {
        return () -> {
            Setup setup = callers(20).get();
            setup.lateness = millis / 1e3;
            return setup;
        };
    }

    private static Supplier<Setup> slowOverload() {
        double capacity = 20 / 1.2;
        return () -> {
            Setup setup = fifo(20, 1.2)
                    .phases(new Phase(10, .7 * capacity), new Phase(20, 4 * capacity), new Phase(20, .7 * capacity));
            setup.deadline = 2;
            return setup;
        };
    }

    private static Setup slowHang() {
        Setup setup = fifo(10_000, 1.2)
                .phases(new Phase(10, 20), new Phase(15, 20), new Phase(10, 20))
                .events(new Event(10, LimitSimulation.hangs(true)), new Event(25, LimitSimulation.hangs(false)));
        setup.deadline = 2;
        return setup;
    }

    /** The first calls take twenty times as long as the later ones. */
    private static Setup cold() {
        Setup setup = fifo(64, .05)
                .phases(new Phase(3, 5), new Phase(20, 5))
                .events(new Event(0, LimitSimulation.slowness(20)), new Event(2, LimitSimulation.slowness(1)));
        setup.burst = 10;
        return setup;
    }

    private static Supplier<Setup> halved(double rate) {
        return () -> fifo(10, .05)
                .phases(new Phase(6, rate), new Phase(20, rate), new Phase(12, rate))
                .events(new Event(6, LimitSimulation.workers(5)), new Event(26, LimitSimulation.workers(10)));
    }

    private static Supplier<Setup> slower(double rate) {
        return () -> fifo(64, .05)
                .phases(new Phase(6, rate), new Phase(4, rate), new Phase(16, rate))
                .events(new Event(6, LimitSimulation.slowness(4)));
    }

    private static Setup hang() {
        return fifo(10, .05)
                .phases(new Phase(6, 150), new Phase(15, 150), new Phase(2, 150), new Phase(8, 150))
                .events(new Event(6, LimitSimulation.hangs(true)), new Event(21, LimitSimulation.hangs(false)));
    }

    private static Supplier<Setup> constant(int workers, double rate, int burst, double seconds) {
        return () -> {
            Setup setup = fifo(workers, .05).phases(new Phase(seconds, rate));
            setup.burst = burst;
            return setup;
        };
    }

    /** Calls of 5 ms and longer ones at even intervals; the shares change after each pause. */
    private static Supplier<Setup> mix(double longest, double rate) {
        double length = 4 + longest;
        return () -> {
            List<Stream> streams = new ArrayList<>();
            double from = 0;
            for (double fast : new double[] {.75, .25, .75}) {
                streams.add(new Stream(from, from + 4, fast * rate, .005));
                streams.add(new Stream(from, from + 4, (1 - fast) * rate, longest));
                from += length;
            }
            Setup setup = fifo(10_000, 1).phases(new Phase(3 * length + 1, 0)).streams(streams.toArray(Stream[]::new));
            setup.deadline = longest > .2 ? 2 : 1;
            return setup;
        };
    }

    /** The calls of one route become slower, those of another do not. */
    private static Supplier<Setup> slowRoute(double fastRate, double slowRate, double service) {
        return () -> {
            Setup setup = fifo(10_000, 1)
                    .phases(new Phase(10, 0), new Phase(20, 0), new Phase(2.5, 0))
                    .streams(
                            new Stream(0, 30, fastRate, .02),
                            new Stream(0, 10, slowRate, .02),
                            new Stream(10, 30, slowRate, service));
            setup.deadline = 2;
            return setup;
        };
    }

    private static Setup batch() {
        Setup setup = fifo(10_000, 1)
                .phases(new Phase(10, 0))
                .streams(new Stream(0, 9, 300, .01), Stream.batch(4.5, .3, 200));
        setup.deadline = 1;
        return setup;
    }

    private static Setup slowerNeighbour() {
        return fifo(10_000, 1)
                .phases(new Phase(26, 0))
                .streams(new Stream(0, 25, 300, .005), new Stream(5, 25, 100, .2));
    }

    private static Setup heavyTail() {
        Setup setup = new Setup()
                .backend(Kind.FIFO, 10_000, .02 * Service.MEAN_OF_HEAVY, Service.HEAVY_TAILED)
                .limit(adaptive())
                .phases(new Phase(60, 100), new Phase(2, 0));
        setup.deadline = 2;
        return setup;
    }

    private static Setup slowerByAndBy() {
        int steps = 240;
        Event[] events = new Event[steps];
        for (int i = 0; i < steps; i++) {
            events[i] = new Event(10 + i / 4., LimitSimulation.slowness(1 + 599. * (i + 1) / steps));
        }
        Setup setup = fifo(10_000, .001)
                .phases(new Phase(10, 100), new Phase(75, 100), new Phase(2, 0))
                .events(events);
        setup.deadline = 2;
        return setup;
    }

    private static Supplier<Setup> ramp(int workers, double service) {
        return () -> fifo(workers, service).phases(new Phase(6, 50), new Phase(1, 1000, true), new Phase(10, 1000));
    }

    private static Setup retries() {
        Setup setup = overloaded(10, .05)
                .get()
                .phases(new Phase(6, 150), new Phase(15, 800), new Phase(5, 150), new Phase(10, 150));
        setup.retries = 3;
        return setup;
    }

    private static Supplier<Setup> four(int workers, double service, double clockSkew) {
        double capacity = workers / service;
        return () -> {
            Setup setup = fifo(workers, service)
                    .phases(new Phase(6, .75 * capacity), new Phase(30, 4 * capacity), new Phase(6, .75 * capacity))
                    .limit(adaptive(clockSkew));
            setup.gateways = 4;
            return setup;
        };
    }

    private static Supplier<Setup> priorities(boolean ignored) {
        return () -> {
            Setup setup = fifo(10, .05).phases(new Phase(6, 150), new Phase(30, 800), new Phase(6, 150));
            setup.priorities = new double[] {.1, .3, .6};
            setup.ignorePriorities = ignored;
            return setup;
        };
    }

    private static Setup prioritiesAndHang() {
        Setup setup = fifo(10, .05)
                .phases(
                        new Phase(10, 800),
                        new Phase(15, 800),
                        new Phase(2, 800),
                        new Phase(15, 800),
                        new Phase(3, 150))
                .events(new Event(10, LimitSimulation.hangs(true)), new Event(25, LimitSimulation.hangs(false)));
        setup.priorities = new double[] {.1, .3, .6};
        return setup;
    }

    private static Supplier<Setup> tenants(double... shares) {
        return () -> {
            Setup setup = fifo(10, .05).phases(new Phase(6, 150), new Phase(30, 800), new Phase(6, 150));
            setup.tenants = shares;
            return setup;
        };
    }

    // ---- figures

    /**
     * The answers of a phase, as a share of those that the backend can give, or of the offered calls if those
     * are fewer.
     */
    private static double goodput(LimitSimulation simulation, int phase, double capacity) {
        return simulation.results.get(phase).goodput / simulation.possible(phase, capacity);
    }

    /** The share of the calls of some phases that was answered in time. */
    private static double answered(LimitSimulation simulation, int first, int last) {
        double answered = 0;
        double offered = 0;
        for (Result result : simulation.results.subList(first, last + 1)) {
            answered += result.answered;
            offered += result.offered;
        }
        // Calls of the last second may end after the simulation.
        boolean cut = last == simulation.results.size() - 1;
        return answered / (offered - (cut ? simulation.stillOpen() : 0));
    }

    private static double allAnswered(LimitSimulation simulation) {
        return simulation.results.stream().mapToDouble(each -> each.answered).sum();
    }

    private static double allLost(LimitSimulation simulation) {
        return simulation.results.stream()
                .mapToDouble(each -> each.refused + each.failed + each.timedOut)
                .sum();
    }

    private static double shareLost(LimitSimulation simulation) {
        double offered =
                simulation.results.stream().mapToDouble(each -> each.offered).sum();
        return allLost(simulation) / offered;
    }

    private static double refused(LimitSimulation simulation, int phase) {
        return simulation.results.get(phase).refusedShare();
    }

    private static double refusedInCalm(LimitSimulation simulation) {
        Result before = simulation.results.get(0);
        Result after = simulation.results.get(2);
        return (double) (before.refused + before.failed + after.refused + after.failed)
                / (before.offered + after.offered);
    }

    private static double refusedInRamp(LimitSimulation simulation) {
        Result ramp = simulation.results.get(1);
        Result after = simulation.results.get(2);
        return (double) (ramp.refused + after.refused) / (ramp.offered + after.offered);
    }

    private static double mostOverLeast(LimitSimulation simulation) {
        double most = 0;
        double least = Double.POSITIVE_INFINITY;
        for (int i = 0; i < 4; i++) {
            double answered = simulation.resultsOfGateway(i).get(1).answered;
            most = Math.max(most, answered);
            least = Math.min(least, answered);
        }
        return most / least;
    }

    /** The normal calls that were answered, as a share of those that the other classes leave capacity for. */
    private static double normalOfTheRest(LimitSimulation simulation) {
        Result normal = simulation.byPriority.get(1).get(1);
        double possible = simulation.possible(1, 200);
        double left = possible - simulation.byPriority.get(0).get(1).answered - possible / WaitingCalls.RESERVE_ONE_IN;
        return normal.answered / Math.min(normal.offered, left);
    }

    private static double leastAnswered(LimitSimulation simulation, int first, int end) {
        double least = 1;
        for (int i = first; i < end; i++) {
            least = Math.min(least, simulation.byTenant.get(i).get(1).answeredShare());
        }
        return least;
    }

    /** The two tenants that want more than their shares divide what the small ones leave. */
    private static double shareOfTheSecond(LimitSimulation simulation) {
        double left = simulation.possible(1, 200);
        for (int i = 2; i < 5; i++) {
            left -= simulation.byTenant.get(i).get(1).answered;
        }
        return simulation.byTenant.get(1).get(1).answered / (left / 2);
    }
}
