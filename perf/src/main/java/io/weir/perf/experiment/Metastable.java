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

    @Override
    public String name() {
        return "metastable";
    }

    @Override
    public String question() {
        return "overload for 15 s, then the usual load: does the backend come back, directly and behind the gateway?";
    }

    @Override
    public int steps(boolean quick) {
        return 2;
    }

    @Override
    public Duration length(boolean quick) {
        return timeline(quick).length().plusSeconds(30).multipliedBy(2);
    }

    @Override
    public int processes() {
        return 3;
    }

    private static Timeline timeline(boolean quick) {
        return new Timeline()
                .then(Timeline.WARM_UP, Duration.ofSeconds(quick ? 10 : 30))
                .then(Timeline.CALM, Duration.ofSeconds(10))
                .then(Timeline.OVERLOAD, OVERLOAD)
                .then(Timeline.AFTER + Timeline.OVERLOAD, Duration.ofSeconds(quick ? 20 : 60));
    }

    @Override
    public void run(Bench bench) throws InterruptedException {
        Fleet fleet = new Fleet(bench);
        bench.doing("PostgreSQL starts");
        String database = fleet.database();
        ask("direct", false, database, bench, fleet);
        ask("gateway", true, database, bench, fleet);
    }

    private static void ask(String label, boolean hasToComeBack, String database, Bench bench, Fleet fleet)
            throws InterruptedException {
        bench.doing(label + " starts");
        Fleet.Server mvc = fleet.backend(
                "mvc",
                "mvc-jdbc",
                database,
                "--sim.pool.workers=10",
                "--sim.pool.service-time=50ms",
                "--sim.pool.queue-capacity=-1");
        Fleet.Server door = mvc;
        if (hasToComeBack) {
            door = fleet.gateway("local.yml", mvc, mvc);
            fleet.ready(door, "/mvc/work");
        }
        fleet.ready(mvc, "/work");

        Timeline timeline = timeline(bench.quick());
        Map<String, String> plan = new HashMap<>();
        plan.put("url", door.url());
        plan.put("caller.path", hasToComeBack ? "/mvc/work" : "/work");
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
        bench.stop(door.child());
        if (hasToComeBack) {
            bench.stop(mvc.child());
        }

        List<Request> overload = timeline.in(2, CALLER, result.requests());
        List<Request> after = timeline.in(3, CALLER, result.requests());
        bench.fact(
                label + ".overload.goodput",
                100 * overload.stream().filter(Request::succeeded).count() / (CAPACITY * OVERLOAD.toSeconds()),
                "% of what it can do");
        bench.fact(label + ".after.success", Request.percent(after, Request::succeeded), "%");
        double back = Recovery.secondsUntilServed(after, timeline.begin(3));
        bench.fact(label + ".back", Double.isNaN(back) ? 0 : 1, "1: it came back");
        if (!Double.isNaN(back)) {
            bench.fact(label + ".back.seconds", back, "s");
        }
    }
}
