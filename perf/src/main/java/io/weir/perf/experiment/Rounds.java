package io.weir.perf.experiment;

import io.weir.perf.run.Bench;
import io.weir.perf.run.Fleet;
import io.weir.perf.run.Gatling;
import io.weir.perf.run.Request;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Fixed numbers of callers who ask a service, one number or one thing after the other, each a step of the run. */
final class Rounds {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final Duration COMING = Duration.ofSeconds(1);
    private static final Duration CEASING = Duration.ofSeconds(2);

    private final Bench bench;
    private final String simulation;
    private final List<Round> all = new ArrayList<>();
    private final Map<String, List<Request>> requests = new TreeMap<>();
    private Duration patience = PATIENCE;

    /**
     * A step.
     *
     * @param x what it is plotted over; empty: nothing
     * @param once whether each caller asks once, all of them at the beginning; otherwise again as soon as it is answered
     * @param comingToo whether the time in which callers come is part of the step
     */
    private record Round(
            String label, String x, String path, int callers, Duration length, boolean once, boolean comingToo) {

        String name() {
            return x.isEmpty() ? label : label + '@' + x;
        }

        /** Before it, in which callers come: what is measured is measured with all of them there. */
        Duration before() {
            return once || comingToo ? Duration.ZERO : COMING;
        }

        /** Before it, the step, and the time in which callers cease to ask. */
        Duration whole() {
            return once ? length : COMING.plus(length).plus(CEASING);
        }
    }

    /** Of that simulation. */
    Rounds(Bench bench, String simulation) {
        this.bench = bench;
        this.simulation = simulation;
    }

    /** How long a caller waits for an answer; otherwise for as long as it takes. */
    Rounds patience(Duration time) {
        patience = time;
        return this;
    }

    /** One that is not looked at: a cold JVM is not what is compared. */
    Rounds warmUp(String path, int callers, Duration length) {
        all.add(new Round(Bench.WARM_UP, "", path, callers, length, false, false));
        return this;
    }

    /** Callers who ask again and again. */
    Rounds then(String label, String path, int callers, Duration length) {
        all.add(new Round(label, "", path, callers, length, false, false));
        return this;
    }

    /** Callers who ask again and again, from the moment on in which they come. */
    Rounds fromTheFirst(String label, String path, int callers, Duration length) {
        all.add(new Round(label, "", path, callers, length, false, true));
        return this;
    }

    /** Callers who ask again and again, as one of a series over their number. */
    Rounds then(String label, int callers, String path, Duration length) {
        all.add(new Round(label, Integer.toString(callers), path, callers, length, false, false));
        return this;
    }

    /** Callers who ask once. */
    Rounds once(String label, String path, int callers, Duration length) {
        all.add(new Round(label, "", path, callers, length, true, false));
        return this;
    }

    /** What is done at each step. */
    interface AtStep {

        /** It has begun. */
        void begins(String step);

        /** It has ended. */
        void ends(String step);
    }

    /** Asks a service. */
    void ask(Fleet.Server service, String run, String request) throws InterruptedException {
        ask(service, run, request, new AtStep() {
            @Override
            public void begins(String step) {}

            @Override
            public void ends(String step) {}
        });
    }

    /** Asks a service. What must hold and does not fails the run; a step in which not all have asked is no result. */
    void ask(Fleet.Server service, String run, String request, AtStep atStep) throws InterruptedException {
        Gatling gatling = bench.load(new Gatling.Load(
                simulation,
                run,
                Map.of(
                        "url", service.url(),
                        "request", request,
                        "patience", Long.toString(patience.toMillis()),
                        "phases",
                                text(round -> round.name() + ':' + round.whole().toMillis()),
                        "rounds",
                                text(round -> String.join(
                                        "|",
                                        round.name(),
                                        round.path(),
                                        Integer.toString(round.callers()),
                                        Long.toString(round.whole().toSeconds()),
                                        Boolean.toString(round.once())))),
                true));
        long at = gatling.awaitBegin();
        Map<String, Long> begun = new TreeMap<>();
        for (Round round : all) {
            long begins = at + round.before().toMillis();
            bench.sleepUntil(begins);
            bench.stepAt(begins, round.label(), round.x());
            begun.put(round.name(), begins);
            atStep.begins(round.name());
            if (round.equals(all.getLast())) {
                gatling.mayEnd();
            }
            bench.sleepUntil(begins + round.length().toMillis());
            bench.endStep();
            atStep.ends(round.name());
            at += round.whole().toMillis();
        }
        Gatling.Result result = gatling.awaitEnd();
        for (Round round : all) {
            long from = begun.getOrDefault(round.name(), 0L);
            long to = from + round.length().toMillis();
            List<Request> sent = result.requests().stream()
                    .filter(one -> one.atMillis() >= from && one.atMillis() < to)
                    .toList();
            requests.put(round.name(), sent);
            if (round.once() ? sent.size() != round.callers() : sent.isEmpty()) {
                bench.invalidate(String.format(
                        Locale.ROOT,
                        "%s: %d requests were sent in the step (expected: %s)",
                        round.name(),
                        sent.size(),
                        round.once() ? Integer.toString(round.callers()) : "some"));
            }
        }
    }

    /** The requests of a step. */
    List<Request> of(String step) {
        return requests.getOrDefault(step, List.of());
    }

    /** Mean time of a step's successes, in milliseconds. */
    double mean(String step) {
        return of(step).stream()
                        .filter(Request::succeeded)
                        .mapToLong(Request::micros)
                        .average()
                        .orElse(Double.NaN)
                / 1000;
    }

    private String text(java.util.function.Function<Round, String> of) {
        return String.join(";", all.stream().map(of).toList());
    }
}
