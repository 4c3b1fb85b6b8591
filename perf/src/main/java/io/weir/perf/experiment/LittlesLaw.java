package io.weir.perf.experiment;

import io.weir.perf.run.Bench;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Fleet;
import io.weir.perf.run.Gatling;
import io.weir.perf.run.Request;
import io.weir.perf.run.RunFailure;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Does the limit that the gateway suggests from its live figures hold the throughput with the least waiting?
 *
 * <p>150 requests a second come to a backend that can do 200, ten at a time, and queues what is more. The gateway is asked for its suggestion while its limit is wide;
 * then the limit is set to a quarter, half, all, twice and four times of that, while the load goes on.
 */
final class LittlesLaw implements Experiment {

    private static final String CALLER = "caller";
    private static final String SUGGESTED = "suggested";
    private static final int RATE = 150;
    private static final int WIDE = 64;

    /** The limits, as shares of what is suggested. */
    private static final Map<String, Double> SHARES = new LinkedHashMap<>();

    static {
        // Downwards: whoever comes behind a limit that is too low, first waits for those who still stand in its queue.
        SHARES.put("four times", 4.0);
        SHARES.put("twice", 2.0);
        SHARES.put(SUGGESTED, 1.0);
        SHARES.put("half", 0.5);
        SHARES.put("a quarter", 0.25);
    }

    @Override
    public String name() {
        return "littles-law";
    }

    @Override
    public String question() {
        return "does the limit that the gateway suggests hold the throughput with the least waiting?";
    }

    @Override
    public int steps(boolean quick) {
        return SHARES.size();
    }

    @Override
    public Duration length(boolean quick) {
        return timeline(quick).length().plusSeconds(30);
    }

    @Override
    public int processes() {
        return 3;
    }

    private static Timeline timeline(boolean quick) {
        Timeline timeline = new Timeline()
                .then(Timeline.WARM_UP, Duration.ofSeconds(quick ? 15 : 30))
                // Longer than the window of the gateway's figures.
                .then("wide", Duration.ofSeconds(quick ? 15 : 60));
        SHARES.keySet().forEach(name -> timeline.then(name, Duration.ofSeconds(quick ? 15 : 60)));
        return timeline;
    }

    @Override
    public void run(Bench bench) throws InterruptedException {
        bench.property("x", "calls that the gateway lets through at a time");
        Fleet fleet = new Fleet(bench);
        bench.doing("the gateway starts");
        String database = fleet.database();
        Fleet.Server mvc = fleet.backend(
                "mvc",
                "mvc-jdbc",
                database,
                "--sim.pool.workers=10",
                "--sim.pool.service-time=50ms",
                "--sim.pool.queue-capacity=-1");
        Fleet.Server gateway = fleet.gateway("local.yml", mvc, mvc);
        fleet.ready(mvc, "/work");
        fleet.ready(gateway, "/mvc/work");
        fleet.manageable(gateway);
        fleet.limit(gateway, "mvc", WIDE);

        Timeline timeline = timeline(bench.quick());
        Map<String, String> plan = new HashMap<>();
        plan.put("url", gateway.url());
        plan.put("caller.path", "/mvc/work");
        plan.put("caller.rate", Integer.toString(RATE));
        plan.put("patience", "5000");
        plan.put("held.percent", "97");
        plan.put("phases", timeline.plan());
        Gatling gatling = bench.load(new Gatling.Load("DoesTheSuggestedLimitHold", "gateway", plan, true));
        Map<String, Double> waiting = new HashMap<>();
        Map<String, Integer> limits = new LinkedHashMap<>();
        double[] suggestion = new double[1];
        timeline.follow(bench, gatling.awaitBegin(), (phase, name, at) -> {
            if (!SHARES.containsKey(name)) {
                return;
            }
            if (limits.isEmpty()) {
                suggestion[0] = fleet.meter(gateway, "weir_law_suggested_limit", "backend=\"mvc\"");
                // A gauge that knows nothing yet is no number.
                if (!(suggestion[0] >= 1)) {
                    throw new RunFailure("the gateway suggests no limit");
                }
            } else {
                waiting.put(timeline.name(phase - 1), waitingShare(fleet, gateway));
            }
            int limit = (int) Math.max(1, Math.round(suggestion[0] * SHARES.getOrDefault(name, 1.0)));
            limits.put(name, limit);
            fleet.limit(gateway, "mvc", limit);
            bench.stepAt(at, "limit", Integer.toString(limit));
        });
        waiting.put(timeline.name(timeline.size() - 1), waitingShare(fleet, gateway));
        Gatling.Result result = gatling.awaitEnd();
        figures(timeline, limits, waiting, result.requests(), bench);
    }

    private static double waitingShare(Fleet fleet, Fleet.Server gateway) {
        return 100 * fleet.meter(gateway, "weir_law_waiting_ratio", "backend=\"mvc\"");
    }

    private static void figures(
            Timeline timeline,
            Map<String, Integer> limits,
            Map<String, Double> waiting,
            List<Request> requests,
            Bench bench) {
        Map<String, Double> throughput = new HashMap<>();
        for (int i = 0; i < timeline.size(); i++) {
            String name = timeline.name(i);
            if (!limits.containsKey(name)) {
                continue;
            }
            List<Request> sent = timeline.in(i, CALLER, requests);
            List<Request> served = sent.stream().filter(Request::succeeded).toList();
            double perSecond = served.size() * 1000.0 / (timeline.begin(i + 1) - timeline.begin(i));
            throughput.put(name, perSecond);
            String fact = name.replace(' ', '-');
            bench.fact(fact + ".limit", limits.getOrDefault(name, 0), "calls");
            bench.fact(fact + ".throughput", perSecond, "1/s");
            bench.fact(fact + ".p50", Request.percentile(served, 50), "ms");
            bench.fact(fact + ".p99", Request.percentile(served, 99), "ms");
            bench.fact(fact + ".waiting", waiting.getOrDefault(name, 0.0), "% of the time");
        }
        double best = throughput.values().stream().mapToDouble(one -> one).max().orElse(0);
        bench.fact("suggested.held", 100 * throughput.getOrDefault(SUGGESTED, 0.0) / best, "% of the best throughput");
    }
}
