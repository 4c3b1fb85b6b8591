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
import java.util.Random;

/**
 * An hour of mixed faults at random (quick: three minutes): does anything leak, is anything lost?
 *
 * <p>Faults come one after the other at one backend, by a seed that is among the figures. Afterwards, when all is well and nobody asks any more, every permit, waiter and
 * connection has to be back; no caller may have been left without an end; and the gateway must have counted as many requests as were sent. Threads and memory are
 * compared between the second third and the last: there may be two threads more, and, as a condition only in a full run, a tenth more memory. Without samples of both
 * thirds it fails.
 */
final class Soak implements Experiment {

    private static final String NEIGHBOUR = "neighbour";
    private static final int RATE = 50;
    private static final long SEED = 20_261_121;
    private static final List<String> FAULTS = List.of(
            "{\"kind\": \"hang\"}",
            "{\"kind\": \"hang\", \"probability\": 0.3}",
            "{\"kind\": \"latency\", \"distribution\": \"uniform\", \"min\": \"100ms\", \"max\": \"2s\"}",
            "{\"kind\": \"errors\", \"shares\": {\"500\": 0.3, \"503\": 0.3}}",
            "{\"kind\": \"reset\", \"probability\": 0.5}",
            "{\"kind\": \"truncate\", \"share\": 0.5, \"probability\": 0.5}",
            "{\"kind\": \"trickle\", \"bytes\": 1, \"interval\": \"200ms\"}");

    private final boolean elsewhere;

    Soak() {
        this(false);
    }

    private Soak(boolean elsewhere) {
        this.elsewhere = elsewhere;
    }

    @Override
    public String name() {
        return elsewhere ? "soak-target" : "soak";
    }

    @Override
    public Optional<Experiment> elsewhere() {
        return Optional.of(new Soak(true));
    }

    @Override
    public String question() {
        return "an hour of mixed faults (quick: three minutes): permits, connections, memory, threads flat? nothing lost?";
    }

    @Override
    public int steps(boolean quick) {
        return 3;
    }

    @Override
    public Duration length(boolean quick) {
        return timeline(quick).length().plusSeconds(45);
    }

    @Override
    public int processes() {
        return 3;
    }

    /** In thirds, so that the last can be compared with the one before. */
    private static Timeline timeline(boolean quick) {
        Duration third = Duration.ofMinutes(quick ? 1 : 20);
        return new Timeline()
                .then(Timeline.WARM_UP, Duration.ofSeconds(quick ? 10 : 30))
                .then("first third", third)
                .then("second third", third)
                .then("last third", third);
    }

    @Override
    public void run(Bench bench) throws InterruptedException {
        Fleet fleet = new Fleet(bench);
        if (fleet.target().isPresent()) {
            Fleet.Server target = fleet.target().orElseThrow();
            fleet.ready(target, "/mvc/delay?ms=1");
            fleet.ready(target, "/reactive/delay?ms=1");
            answered(bench, ask(bench, fleet, target, fleet.targetsBackend().orElseThrow()));
            return;
        }
        bench.doing("the gateway starts");
        String database = fleet.database();
        Fleet.Server mvc = fleet.backend("mvc", "mvc-jdbc", database);
        Fleet.Server reactive = fleet.backend(NEIGHBOUR, "webflux-r2dbc", database);
        Fleet.Server gateway = fleet.gateway("local.yml", mvc, reactive);
        fleet.ready(mvc, "/delay?ms=1");
        fleet.ready(reactive, "/delay?ms=1");
        fleet.ready(gateway, "/mvc/delay?ms=1");
        fleet.manageable(gateway);
        double countedBefore = fleet.meter(gateway, "weir_requests_seconds_count");
        Gatling.Result result = ask(bench, fleet, gateway, mvc);
        settled(bench, fleet, gateway, countedBefore, result);
        answered(bench, result);
        flat(bench);
    }

    private static Gatling.Result ask(Bench bench, Fleet fleet, Fleet.Server gateway, Fleet.Server mvc)
            throws InterruptedException {
        Timeline timeline = timeline(bench.quick());
        Map<String, String> plan = new HashMap<>();
        plan.put("url", gateway.url());
        plan.put("sick.path", "/mvc/delay?ms=20");
        plan.put("sick.rate", Integer.toString(RATE));
        plan.put("neighbour.path", "/reactive/delay?ms=20");
        plan.put("neighbour.rate", Integer.toString(RATE));
        plan.put("patience", "10000");
        plan.put("contained.percent", "99");
        plan.put("phases", timeline.plan());
        Gatling gatling = bench.load(new Gatling.Load("DoesAnythingLeak", "gateway", plan, true));
        long begin = gatling.awaitBegin();
        Random random = new Random(SEED);
        bench.fact("seed", SEED, "");
        timeline.follow(bench, begin, (phase, name, at) -> {
            if (!name.equals(Timeline.WARM_UP)) {
                bench.stepAt(at, name, "");
                faults(bench, fleet, mvc, random, timeline.endOf(phase));
            }
        });
        return gatling.awaitEnd();
    }

    /** One after the other, each healed before the next, until there is no time for another. */
    private static void faults(Bench bench, Fleet fleet, Fleet.Server mvc, Random random, long until)
            throws InterruptedException {
        while (true) {
            long from = bench.now() + 1000 + random.nextInt(3000);
            long to = from + 2000 + random.nextInt(6000);
            String fault = FAULTS.get(random.nextInt(FAULTS.size()));
            if (to + 1000 > until) {
                return;
            }
            bench.sleepUntil(from);
            fleet.breaks(mvc, fault);
            bench.sleepUntil(to);
            fleet.heal(mvc);
            bench.span(fault.replaceAll(".*\"kind\": \"([a-z-]+)\".*", "$1"), from, to);
        }
    }

    /** Nobody asks any more. */
    private static void settled(
            Bench bench, Fleet fleet, Fleet.Server gateway, double countedBefore, Gatling.Result result)
            throws InterruptedException {
        bench.doing("everything comes back");
        for (String gauge : List.of(
                "weir_permits_used", "weir_queue_length", "weir_streams_used", "weir_pool_pending", "weir_inflight")) {
            isZero(bench, fleet, gateway, gauge);
        }
        isZero(bench, fleet, gateway, "weir_pool_connections", "state=\"acquired\"");
        isZero(bench, fleet, gateway, "weir_connections_open");
        double counted = fleet.meter(gateway, "weir_requests_seconds_count") - countedBefore;
        bench.fact("requests.sent", result.requests().size(), "");
        bench.fact("requests.counted", counted, "");
        bench.mustHold(
                "the gateway has counted the " + result.requests().size() + " requests that were sent",
                counted == result.requests().size(),
                Long.toString((long) counted));
    }

    /** By somebody, soon. */
    private static void answered(Bench bench, Gatling.Result result) {
        List<Request> endless = result.requests().stream()
                .filter(one -> one.outcome().equals("timeout"))
                .toList();
        bench.fact("requests.without.end", endless.size(), "");
        bench.mustHold(
                "no caller has waited for longer than any deadline",
                endless.isEmpty(),
                Integer.toString(endless.size()));
        double neighbour = Request.percent(
                result.requests().stream()
                        .filter(one -> one.name().equals(NEIGHBOUR))
                        .toList(),
                Request::succeeded);
        bench.fact("neighbour.success", neighbour, "%");
    }

    private static void isZero(Bench bench, Fleet fleet, Fleet.Server gateway, String gauge, String... labels)
            throws InterruptedException {
        // Idle connections and the last words of what has ended take a moment.
        long until = bench.now() + 10_000;
        double value = fleet.meter(gateway, gauge, labels);
        while (value != 0 && bench.now() < until) {
            bench.sleepUntil(bench.now() + 200);
            value = fleet.meter(gateway, gauge, labels);
        }
        bench.fact("left." + gauge, value, "");
        bench.mustHold(gauge + " is 0 when nobody asks any more", value == 0, Double.toString(value));
    }

    private static void flat(Bench bench) {
        double threads = bench.sampled("gateway", "threads", 3) - bench.sampled("gateway", "threads", 2);
        double memory = bench.sampled("gateway", "rss", 3) / bench.sampled("gateway", "rss", 2);
        bench.fact("gateway.threads.more", threads, "in the last third");
        bench.fact("gateway.memory.ratio", memory, "last third to the one before");
        bench.mustHold(
                "the gateway has at most 2 threads more in the last third",
                threads <= 2,
                String.format(Locale.ROOT, "%.1f", threads));
        if (!bench.quick()) {
            bench.mustHold(
                    "the gateway has at most 1.1 times the memory in the last third",
                    memory <= 1.1,
                    String.format(Locale.ROOT, "%.3f", memory));
        }
    }
}
