package io.weir.perf.experiment;

import io.weir.perf.run.Bench;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Fleet;
import io.weir.perf.run.Gatling;
import io.weir.perf.run.Request;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A backend hangs for 1, 5 and 30 seconds: how long after it has healed are its callers served again?
 *
 * <p>Recovered is the first moment after the heal from which on 99 of 100 requests in a row succeed. Each length comes several times; the median counts, since the
 * probes that find a healed backend come at intervals with jitter.
 *
 * <p>The simulator goes on with what it has held when it heals. A probe that it holds then is answered at once, so the wait for the next probe is in none of these times.
 */
final class Recovery implements Experiment {

    private static final String CALLER = "caller";
    private static final int RATE = 100;
    private static final int IN_A_ROW = 100;
    private static final List<Integer> FAULTS_SECONDS = List.of(1, 5, 30);

    private final boolean elsewhere;

    Recovery() {
        this(false);
    }

    private Recovery(boolean elsewhere) {
        this.elsewhere = elsewhere;
    }

    @Override
    public String name() {
        return elsewhere ? "recovery-target" : "recovery";
    }

    @Override
    public Optional<Experiment> elsewhere() {
        return Optional.of(new Recovery(true));
    }

    @Override
    public String question() {
        return "a backend hangs for 1, 5, 30 s: how long after the heal until 99 % succeed?";
    }

    @Override
    public int steps(boolean quick) {
        return FAULTS_SECONDS.size() * times(quick);
    }

    private static int times(boolean quick) {
        return quick ? 2 : 5;
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
        Timeline timeline = new Timeline().then(Timeline.WARM_UP, Duration.ofSeconds(quick ? 10 : 30));
        for (int i = 0; i < times(quick); i++) {
            for (int seconds : FAULTS_SECONDS) {
                String fault = "hang of " + seconds + " s";
                timeline.then(Timeline.CALM, Duration.ofSeconds(quick ? 4 : 10))
                        .then(fault, Duration.ofSeconds(seconds))
                        .then(Timeline.AFTER + fault, Duration.ofSeconds(quick ? 6 : 15));
            }
        }
        return timeline;
    }

    @Override
    public void run(Bench bench) throws InterruptedException {
        Fleet fleet = new Fleet(bench);
        if (fleet.target().isPresent()) {
            ask(fleet.target().orElseThrow(), fleet.targetsBackend().orElseThrow(), bench, fleet);
            return;
        }
        bench.doing("the gateway starts");
        String database = fleet.database();
        Fleet.Server mvc = fleet.backend("mvc", "mvc-jdbc", database);
        Fleet.Server reactive = fleet.backend("neighbour", "webflux-r2dbc", database);
        Fleet.Server gateway = fleet.gateway("local.yml", mvc, reactive);
        fleet.ready(mvc, "/delay?ms=1");
        ask(gateway, mvc, bench, fleet);
    }

    private static void ask(Fleet.Server gateway, Fleet.Server mvc, Bench bench, Fleet fleet)
            throws InterruptedException {
        fleet.ready(gateway, "/mvc/delay?ms=1");
        Timeline timeline = timeline(bench.quick());
        Map<String, String> plan = new HashMap<>();
        plan.put("url", gateway.url());
        plan.put("caller.path", "/mvc/delay?ms=20");
        plan.put("caller.rate", Integer.toString(RATE));
        plan.put("patience", "5000");
        plan.put("healed.percent", "80");
        plan.put("phases", timeline.plan());
        bench.note(
                "When it heals, the simulator goes on with what it has held: a probe that hangs then succeeds at once, so a wait for the next one is in none of these times.");
        Gatling gatling = bench.load(new Gatling.Load("HowSoonIsAHealedBackendServed", "gateway", plan, true));
        timeline.follow(bench, gatling.awaitBegin(), (phase, name, at) -> {
            if (name.equals(Timeline.CALM)) {
                String fault = timeline.name(phase + 1);
                bench.stepAt(at, fault, "");
            } else if (name.startsWith(Timeline.AFTER)) {
                fleet.heal(mvc);
                bench.span(timeline.name(phase - 1), timeline.begin(phase - 1), at);
            } else if (!name.equals(Timeline.WARM_UP)) {
                fleet.breaks(mvc, "{\"kind\": \"hang\"}");
            }
        });
        Gatling.Result result = gatling.awaitEnd();
        figures(timeline, result.requests(), bench);
    }

    private static void figures(Timeline timeline, List<Request> requests, Bench bench) {
        Map<Integer, List<Double>> seconds = new TreeMap<>();
        for (int i = 0; i < timeline.size(); i++) {
            if (timeline.name(i).startsWith(Timeline.AFTER)) {
                double after = secondsUntilServed(timeline.in(i, CALLER, requests), timeline.begin(i));
                bench.mustHold(
                        timeline.name(i) + ": callers are served again while it is watched",
                        !Double.isNaN(after),
                        Double.isNaN(after) ? "not" : String.format(Locale.ROOT, "after %.3f s", after));
                if (Double.isNaN(after)) {
                    after = (timeline.begin(i + 1) - timeline.begin(i)) / 1000.0;
                }
                int length = Integer.parseInt(timeline.name(i).replaceAll("\\D", ""));
                seconds.computeIfAbsent(length, one -> new ArrayList<>()).add(after);
            }
        }
        seconds.forEach((length, all) -> {
            bench.fact("recovery.median." + length + "s", median(all), "s");
            bench.fact("recovery.worst." + length + "s", Collections.max(all), "s");
        });
    }

    /** The one in the middle, or the mean of both that are. */
    static double median(Collection<Double> of) {
        List<Double> sorted = of.stream().sorted().toList();
        return (sorted.get((sorted.size() - 1) / 2) + sorted.get(sorted.size() / 2)) / 2;
    }

    /** From the heal to the first of 100 requests in a row of which 99 succeed; not a number if there are none. */
    static double secondsUntilServed(List<Request> since, long heal) {
        for (int first = 0; first + IN_A_ROW <= since.size(); first++) {
            List<Request> row = since.subList(first, first + IN_A_ROW);
            if (row.getFirst().succeeded() && Request.percent(row, Request::succeeded) >= 99) {
                return (row.getFirst().atMillis() - heal) / 1000.0;
            }
        }
        return Double.NaN;
    }
}
