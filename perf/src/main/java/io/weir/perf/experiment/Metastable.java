package io.weir.perf.experiment;

import io.weir.perf.run.Bench;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Fleet;
import io.weir.perf.run.Gatling;
import io.weir.perf.run.Request;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Four times what a backend can do for 15 seconds, then the usual again: does it come back?
 *
 * <p>The backend has ten workers for calls of 50 ms, so it can do 200 a second, queues whatever comes, and goes on working for callers who have left after a second.
 * Asked directly, it works off what nobody waits for any more, and those who come meanwhile leave before it is their turn. Through the gateway it has to come back.
 */
final class Metastable implements Experiment {

    private static final String CALLER = "caller";
    private static final double CAPACITY = 200;
    private static final int RATE = 150;
    private static final int OVERLOAD_RATE = 800;
    private static final Duration OVERLOAD = Duration.ofSeconds(15);

    private final boolean elsewhere;

    Metastable() {
        this(false);
    }

    private Metastable(boolean elsewhere) {
        this.elsewhere = elsewhere;
    }

    @Override
    public String name() {
        return elsewhere ? "metastable-target" : "metastable";
    }

    @Override
    public Optional<Experiment> elsewhere() {
        return Optional.of(new Metastable(true));
    }

    @Override
    public String question() {
        return "overload for 15 s, then the usual load: does the backend come back, directly and behind the gateway?";
    }

    @Override
    public int steps(boolean quick) {
        return elsewhere ? 1 : 2;
    }

    @Override
    public Duration length(boolean quick) {
        return timeline(quick).length().plusSeconds(30).multipliedBy(steps(quick));
    }

    @Override
    public int processes() {
        return 3;
    }

    private static Timeline timeline(boolean quick) {
        return new Timeline()
                .then(Timeline.WARM_UP, Duration.ofSeconds(quick ? 20 : 30))
                .then(Timeline.CALM, Duration.ofSeconds(10))
                .then(Timeline.OVERLOAD, OVERLOAD)
                .then(Timeline.AFTER + Timeline.OVERLOAD, Duration.ofSeconds(quick ? 20 : 60));
    }

    @Override
    public void run(Bench bench) throws InterruptedException {
        Fleet fleet = new Fleet(bench);
        if (fleet.target().isPresent()) {
            ask("target", "/mvc/work", fleet.target().orElseThrow(), true, bench, fleet);
            return;
        }
        bench.doing("PostgreSQL starts");
        String database = fleet.database();
        bench.doing("direct starts");
        Fleet.Server direct = backend(fleet, database);
        ask("direct", "/work", direct, false, bench, fleet);
        bench.stop(direct);
        bench.doing("gateway starts");
        Fleet.Server mvc = backend(fleet, database);
        Fleet.Server gateway = fleet.gateway("local.yml", mvc, mvc);
        ask("gateway", "/mvc/work", gateway, true, bench, fleet);
        bench.stop(gateway, mvc);
    }

    private static Fleet.Server backend(Fleet fleet, String database) {
        return fleet.backend(
                "mvc",
                "mvc-jdbc",
                database,
                "--sim.pool.workers=10",
                "--sim.pool.service-time=50ms",
                "--sim.pool.queue-capacity=-1");
    }

    private static void ask(
            String label, String path, Fleet.Server door, boolean hasToComeBack, Bench bench, Fleet fleet)
            throws InterruptedException {
        fleet.ready(door, path);
        Timeline timeline = timeline(bench.quick());
        Map<String, String> plan = new HashMap<>();
        plan.put("url", door.url());
        plan.put("caller.path", path);
        plan.put("caller.rate", Integer.toString(RATE));
        plan.put("overload.rate", Integer.toString(OVERLOAD_RATE));
        plan.put("patience", "1000");
        plan.put("phases", timeline.plan());
        if (hasToComeBack) {
            plan.put("back.percent", "95");
        }
        Gatling gatling = bench.load(new Gatling.Load("DoesAnOverloadedBackendComeBack", label, plan, hasToComeBack));
        timeline.follow(bench, gatling.awaitBegin(), (phase, name, at) -> {
            if (name.equals(Timeline.CALM)) {
                bench.stepAt(at, label, "");
            } else if (name.startsWith(Timeline.AFTER)) {
                bench.span(Timeline.OVERLOAD, timeline.begin(phase - 1), at);
            }
        });
        Gatling.Result result = gatling.awaitEnd();

        List<Request> overload = timeline.in(2, CALLER, result.requests());
        List<Request> after = timeline.in(3, CALLER, result.requests());
        long good = overload.stream().filter(Request::succeeded).count();
        // What a backend elsewhere can do is not known.
        if (fleet.target().isPresent()) {
            bench.fact(label + ".overload.throughput", (double) good / OVERLOAD.toSeconds(), "1/s");
        } else {
            bench.fact(
                    label + ".overload.goodput", 100 * good / (CAPACITY * OVERLOAD.toSeconds()), "% of what it can do");
        }
        bench.fact(label + ".after.success", Request.percent(after, Request::succeeded), "%");
        double back = Recovery.secondsUntilServed(after, timeline.begin(3));
        bench.fact(label + ".back", Double.isNaN(back) ? 0 : 1, "(1: it came back)");
        if (!Double.isNaN(back)) {
            bench.fact(label + ".back.seconds", back, "s");
        }
    }
}
