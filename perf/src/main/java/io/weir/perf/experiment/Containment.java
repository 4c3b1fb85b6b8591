package io.weir.perf.experiment;

import io.weir.perf.run.Bench;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Fleet;
import io.weir.perf.run.Gatling;
import io.weir.perf.run.Request;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

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
 * A gateway that runs elsewhere is asked alone, as {@code target}, and has to contain too.
 *
 * <p>The backend in trouble has ten workers for calls of 50 ms, so it can do 200 a second, and queues whatever comes.
 */
class Containment implements Experiment {

    private static final Duration DEADLINE = Duration.ofMillis(800);
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final String SICK = "sick";
    private static final String NEIGHBOUR = "neighbour";

    private final boolean elsewhere;

    Containment() {
        this(false);
    }

    private Containment(boolean elsewhere) {
        this.elsewhere = elsewhere;
    }

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
        THREADS("threads"),
        TARGET("target");

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

        private static final List<String> ALL = List.of("hang", "slow", "fail", "reset", Timeline.OVERLOAD);

        static Extent of(boolean quick) {
            return new Extent(
                    List.of(Front.PROTECTED, Front.UNPROTECTED, Front.THREADS),
                    List.of(Front.PROTECTED),
                    ALL,
                    Duration.ofSeconds(quick ? 20 : 30),
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
                            "neighbour.p99",
                            Long.toString(DEADLINE.toMillis() / 2),
                            "healed.percent",
                            "80",
                            "sick.p99",
                            Long.toString(2 * DEADLINE.toMillis())));
        }

        /** Of the target alone. Its deadline is not known: its callers' patience is what they must not need. */
        Extent elsewhere() {
            Map<String, String> other = new HashMap<>(asserted);
            other.computeIfPresent("sick.p99", (name, value) -> Long.toString(PATIENCE.toMillis()));
            other.computeIfPresent("neighbour.p99", (name, value) -> Long.toString(PATIENCE.toMillis() / 2));
            return new Extent(
                    List.of(Front.TARGET),
                    List.of(Front.TARGET),
                    faults,
                    warmUp,
                    calm,
                    fault,
                    after,
                    shared,
                    sickRate,
                    neighbourRate,
                    overloadRate,
                    Map.copyOf(other));
        }

        private Duration ofFront() {
            return warmUp.plus(calm.plus(fault).plus(after).multipliedBy(faults.size()));
        }
    }

    @Override
    public String name() {
        return elsewhere ? "containment-target" : "containment";
    }

    @Override
    public Optional<Experiment> elsewhere() {
        return Optional.of(new Containment(true));
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
        Extent extent = Extent.of(quick);
        return elsewhere ? extent.elsewhere() : extent;
    }

    @Override
    public void run(Bench bench) throws InterruptedException {
        Fleet fleet = new Fleet(bench);
        Extent extent = extent(bench.quick());
        if (fleet.target().isPresent()) {
            ask(
                    Front.TARGET,
                    fleet.target().orElseThrow(),
                    fleet.targetsBackend().orElseThrow(),
                    extent,
                    bench,
                    fleet);
            return;
        }
        bench.note(String.format(
                Locale.ROOT,
                "protected: config/local.yml. unprotected: the same gateway with config/unprotected.yml, no deadline, breaker or bulkhead, and %1$d callers' connections for"
                        + " all, which its backends have to share as the third front's have its %1$d threads. threads: Spring MVC. p99 is of all requests, however they"
                        + " ended.",
                extent.shared()));
        bench.doing("PostgreSQL starts");
        String database = fleet.database();
        Backends backends = null;
        for (Front front : extent.fronts()) {
            bench.doing(front.label + " starts");
            if (backends == null) {
                backends = Backends.start(fleet, database);
            }
            Fleet.Server door = door(front, extent, backends, fleet);
            fleet.ready(backends.mvc(), "/work");
            fleet.ready(backends.reactive(), "/delay?ms=1");
            ask(front, door, backends.mvc(), extent, bench, fleet);
            bench.stop(door);
            // What an overload has left in a queue without a bound would be the next one's.
            if (extent.faults().contains(Timeline.OVERLOAD)) {
                bench.stop(backends.mvc(), backends.reactive());
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

    private static Fleet.Server door(Front front, Extent extent, Backends backends, Fleet fleet) {
        return switch (front) {
            case PROTECTED -> fleet.gateway("local.yml", backends.mvc(), backends.reactive());
            case UNPROTECTED ->
                fleet.gateway(
                        "unprotected.yml",
                        backends.mvc(),
                        backends.reactive(),
                        "--weir.edge.max-connections=" + extent.shared());
            case THREADS -> fleet.threadFront(extent.shared(), backends.mvc(), backends.reactive());
            case TARGET -> throw new IllegalArgumentException("it runs elsewhere");
        };
    }

    private static void ask(Front front, Fleet.Server door, Fleet.Server mvc, Extent extent, Bench bench, Fleet fleet)
            throws InterruptedException {
        fleet.ready(door, "/mvc/work");
        fleet.ready(door, "/reactive/delay?ms=1");

        Timeline timeline = timeline(extent);
        Map<String, String> plan = new HashMap<>(extent.asserted());
        plan.put("url", door.url());
        plan.put("sick.path", "/mvc/work");
        plan.put("sick.rate", Integer.toString(extent.sickRate()));
        plan.put("overload.rate", Integer.toString(extent.overloadRate()));
        plan.put("neighbour.path", "/reactive/delay?ms=20");
        plan.put("neighbour.rate", Integer.toString(extent.neighbourRate()));
        plan.put("patience", Long.toString(PATIENCE.toMillis()));
        plan.put("phases", timeline.plan());
        Gatling gatling = bench.load(new Gatling.Load(
                "DoesAFailureStayContained",
                front.label,
                plan,
                extent.contains().contains(front)));
        long begin = gatling.awaitBegin();
        timeline.follow(bench, begin, (phase, name, at) -> {
            if (name.equals(Timeline.CALM)) {
                bench.stepAt(at, front.label + ": " + timeline.name(phase + 1), "");
            } else if (FAULTS.containsKey(name)) {
                fleet.breaks(mvc, FAULTS.getOrDefault(name, ""));
            } else if (name.startsWith(Timeline.AFTER)) {
                fleet.heal(mvc);
                bench.span(timeline.name(phase - 1), timeline.begin(phase - 1), at);
            }
        });
        Gatling.Result result = gatling.awaitEnd();

        bench.fact(front.label + ".assertions.failed", result.failed().size(), "");
        figures(front, timeline, result.requests(), bench);
    }

    private static Timeline timeline(Extent extent) {
        Timeline timeline = new Timeline().then(Timeline.WARM_UP, extent.warmUp());
        for (String fault : extent.faults()) {
            timeline.then(Timeline.CALM, extent.calm())
                    .then(fault, extent.fault())
                    .then(Timeline.AFTER + fault, extent.after());
        }
        return timeline;
    }

    private static void figures(Front front, Timeline timeline, List<Request> requests, Bench bench) {
        for (int calm = 0; calm < timeline.size(); calm++) {
            if (!timeline.name(calm).equals(Timeline.CALM)) {
                continue;
            }
            int fault = calm + 1;
            String prefix = front.label + "." + timeline.name(fault) + ".";
            List<Request> neighbours = timeline.in(fault, NEIGHBOUR, requests);
            List<Request> sick = timeline.in(fault, SICK, requests);
            bench.fact(prefix + "neighbour.success", Request.percent(neighbours, Request::succeeded), "%");
            bench.fact(
                    prefix + "neighbour.p99.calm",
                    Request.percentile(timeline.in(calm, NEIGHBOUR, requests), 99),
                    "ms");
            bench.fact(prefix + "neighbour.p99", Request.percentile(neighbours, 99), "ms");
            bench.fact(prefix + "sick.success", Request.percent(sick, Request::succeeded), "%");
            bench.fact(prefix + "sick.p99", Request.percentile(sick, 99), "ms");
            bench.fact(
                    prefix + "sick.healed",
                    Request.percent(timeline.in(fault + 1, SICK, requests), Request::succeeded),
                    "%");
        }
    }
}
