package io.weir.perf.experiment;

import io.weir.perf.run.Bench;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Fleet;
import io.weir.perf.run.Gatling;
import io.weir.perf.run.Request;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * One of two backends is in trouble: what do the other one's callers feel?
 *
 * <p>Three fronts are asked the same, one after the other, each, where there was an overload, with fresh backends:
 * <ul>
 *   <li>{@code protected}: the gateway with {@code config/local.yml}. It has to contain every fault, or the run fails.
 *   <li>{@code unprotected}: the same gateway with {@code config/unprotected.yml}, and one pool that all share. Reactor Netty's pools are one for each address, so none of
 *       them can be shared by two backends; what can is that of callers' connections. It gets as many as the third front has threads.
 *   <li>{@code threads}: Spring MVC with 200 threads.
 * </ul>
 *
 * <p>The backend in trouble has ten workers for calls of 50 ms, so it can do 200 a second, and queues whatever comes.
 */
class Containment implements Experiment {

    private static final Duration DEADLINE = Duration.ofMillis(800);
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final String SICK = "sick";
    private static final String NEIGHBOUR = "neighbour";
    private static final String OVERLOAD = "overload";

    /** What goes wrong, in the simulator's words; overload is the load's doing. */
    private static final Map<String, String> FAULTS = Map.of(
            "hang", "{\"kind\": \"hang\"}",
            "slow", "{\"kind\": \"latency\", \"distribution\": \"fixed\", \"delay\": \"4s\"}",
            "fail", "{\"kind\": \"errors\", \"shares\": {\"500\": 1.0}}",
            "reset", "{\"kind\": \"reset\"}");

    /** What stands in front of the backends. */
    enum Front {
        PROTECTED("protected"),
        UNPROTECTED("unprotected"),
        THREADS("threads");

        private final String label;

        Front(String label) {
            this.label = label;
        }
    }

    /**
     * How much of it.
     *
     * @param contains the fronts that have to contain, or the run fails
     * @param shared what all backends' requests share at the fronts without compartments: callers' connections, or threads
     * @param sickRate of the requests to the backend in trouble, each second
     * @param asserted what has to hold, for the simulation
     */
    record Extent(
            List<Front> fronts,
            List<Front> contains,
            List<String> faults,
            Duration warmUp,
            Duration calm,
            Duration fault,
            Duration after,
            int shared,
            int sickRate,
            int neighbourRate,
            int overloadRate,
            Map<String, String> asserted) {

        private static final List<String> ALL = List.of("hang", "slow", "fail", "reset", OVERLOAD);

        static Extent of(boolean quick) {
            return new Extent(
                    List.of(Front.values()),
                    List.of(Front.PROTECTED),
                    ALL,
                    Duration.ofSeconds(quick ? 10 : 30),
                    Duration.ofSeconds(quick ? 5 : 15),
                    Duration.ofSeconds(quick ? 10 : 30),
                    Duration.ofSeconds(quick ? 5 : 15),
                    200,
                    80,
                    100,
                    500,
                    Map.of(
                            "contained.percent",
                            "97",
                            "healed.percent",
                            "80",
                            "sick.p99",
                            Long.toString(2 * DEADLINE.toMillis())));
        }

        private Duration ofFront() {
            return warmUp.plus(calm.plus(fault).plus(after).multipliedBy(faults.size()));
        }
    }

    /** A stretch of a front's run. */
    private record Phase(String name, Duration length) {}

    @Override
    public String name() {
        return "containment";
    }

    @Override
    public String question() {
        return "one backend hangs, slows, fails, resets, is overloaded: what do the others feel?";
    }

    @Override
    public int steps(boolean quick) {
        Extent extent = extent(quick);
        return extent.fronts().size() * extent.faults().size();
    }

    @Override
    public Duration length(boolean quick) {
        Extent extent = extent(quick);
        return extent.ofFront().plusSeconds(30).multipliedBy(extent.fronts().size());
    }

    @Override
    public int processes() {
        return 3;
    }

    /** How much of it is done. */
    Extent extent(boolean quick) {
        return Extent.of(quick);
    }

    @Override
    public void run(Bench bench) throws InterruptedException {
        Fleet fleet = new Fleet(bench);
        Extent extent = extent(bench.quick());
        bench.doing("PostgreSQL starts");
        String database = fleet.database();
        Backends backends = null;
        for (Front front : extent.fronts()) {
            bench.doing(front.label + " starts");
            if (backends == null) {
                backends = Backends.start(fleet, database);
            }
            ask(front, extent, backends, bench, fleet);
            // What an overload has left in a queue without a bound would be the next one's.
            if (extent.faults().contains(OVERLOAD)) {
                bench.stop(backends.mvc().child(), backends.reactive().child());
                backends = null;
            }
        }
    }

    /** The backend in trouble and its neighbour. */
    private record Backends(Fleet.Server mvc, Fleet.Server reactive) {

        static Backends start(Fleet fleet, String database) {
            return new Backends(
                    fleet.backend(
                            "mvc",
                            "mvc-jdbc",
                            database,
                            "--sim.pool.workers=10",
                            "--sim.pool.service-time=50ms",
                            "--sim.pool.queue-capacity=-1"),
                    fleet.backend(NEIGHBOUR, "webflux-r2dbc", database));
        }
    }

    private static void ask(Front front, Extent extent, Backends backends, Bench bench, Fleet fleet)
            throws InterruptedException {
        Fleet.Server mvc = backends.mvc();
        Fleet.Server reactive = backends.reactive();
        Fleet.Server door =
                switch (front) {
                    case PROTECTED -> fleet.gateway("local.yml", mvc, reactive);
                    case UNPROTECTED ->
                        fleet.gateway(
                                "unprotected.yml", mvc, reactive, "--weir.edge.max-connections=" + extent.shared());
                    case THREADS -> fleet.threadFront(extent.shared(), mvc, reactive);
                };
        fleet.ready(mvc, "/work");
        fleet.ready(reactive, "/delay?ms=1");
        fleet.ready(door, "/mvc/work");
        fleet.ready(door, "/reactive/delay?ms=1");

        List<Phase> phases = phases(extent);
        Map<String, String> plan = new HashMap<>(extent.asserted());
        plan.put("url", door.url());
        plan.put("sick.path", "/mvc/work");
        plan.put("sick.rate", Integer.toString(extent.sickRate()));
        plan.put("overload.rate", Integer.toString(extent.overloadRate()));
        plan.put("neighbour.path", "/reactive/delay?ms=20");
        plan.put("neighbour.rate", Integer.toString(extent.neighbourRate()));
        plan.put("patience", Long.toString(PATIENCE.toMillis()));
        plan.put(
                "phases",
                phases.stream()
                        .map(phase -> phase.name() + ":" + phase.length().toMillis())
                        .collect(Collectors.joining(";")));
        Gatling gatling = bench.load(new Gatling.Load("DoesAFailureStayContained", front.label, plan));
        long begin = gatling.awaitBegin();
        List<Long> begins = follow(front, phases, begin, mvc, bench, fleet);
        bench.endStep();
        Gatling.Result result = gatling.awaitEnd();
        bench.stop(door.child());

        bench.fact(front.label + ".assertions.failed", result.failed().size(), "");
        if (extent.contains().contains(front)) {
            result.failed().forEach(failed -> bench.fail(front.label + ": " + failed));
        }
        figures(front, phases, begins, result.requests(), bench);
    }

    private static List<Phase> phases(Extent extent) {
        List<Phase> phases = new ArrayList<>();
        phases.add(new Phase("warm-up", extent.warmUp()));
        for (String fault : extent.faults()) {
            phases.add(new Phase("calm", extent.calm()));
            phases.add(new Phase(fault, extent.fault()));
            phases.add(new Phase("after " + fault, extent.after()));
        }
        return phases;
    }

    /** Breaks and heals as time goes on; when each phase began. */
    private static List<Long> follow(
            Front front, List<Phase> phases, long begin, Fleet.Server mvc, Bench bench, Fleet fleet)
            throws InterruptedException {
        List<Long> begins = new ArrayList<>();
        long at = begin;
        for (int i = 0; i < phases.size(); i++) {
            Phase phase = phases.get(i);
            bench.sleepUntil(at);
            begins.add(at);
            if (phase.name().equals("calm")) {
                bench.stepAt(at, front.label + ": " + phases.get(i + 1).name(), "");
            } else if (FAULTS.containsKey(phase.name())) {
                fleet.breaks(mvc, FAULTS.getOrDefault(phase.name(), ""));
            } else if (phase.name().startsWith("after ")) {
                fleet.heal(mvc);
                bench.span(phases.get(i - 1).name(), begins.get(i - 1), at);
            }
            at += phase.length().toMillis();
        }
        bench.sleepUntil(at);
        begins.add(at);
        return begins;
    }

    private static void figures(
            Front front, List<Phase> phases, List<Long> begins, List<Request> requests, Bench bench) {
        for (int i = 1; i < phases.size(); i++) {
            Phase phase = phases.get(i);
            if (!phase.name().equals("calm")) {
                continue;
            }
            String prefix = front.label + "." + phases.get(i + 1).name() + ".";
            List<Request> calm = between(requests, NEIGHBOUR, begins.get(i), begins.get(i + 1));
            List<Request> fault = between(requests, NEIGHBOUR, begins.get(i + 1), begins.get(i + 2));
            List<Request> sick = between(requests, SICK, begins.get(i + 1), begins.get(i + 2));
            List<Request> after = between(requests, SICK, begins.get(i + 2), begins.get(i + 3));
            bench.fact(prefix + "neighbour.success", Request.percent(fault, Request::succeeded), "%");
            bench.fact(prefix + "neighbour.p99.calm", Request.percentile(calm, 99), "ms");
            bench.fact(prefix + "neighbour.p99", Request.percentile(fault, 99), "ms");
            bench.fact(prefix + "sick.success", Request.percent(sick, Request::succeeded), "%");
            bench.fact(prefix + "sick.p99", Request.percentile(sick, 99), "ms");
            bench.fact(prefix + "sick.healed", Request.percent(after, Request::succeeded), "%");
        }
    }

    private static List<Request> between(List<Request> all, String name, long from, long to) {
        return all.stream()
                .filter(one -> one.name().equals(name) && one.atMillis() >= from && one.atMillis() < to)
                .toList();
    }
}
