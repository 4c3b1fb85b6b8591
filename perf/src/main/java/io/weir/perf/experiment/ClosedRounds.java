package io.weir.perf.experiment;

import io.weir.perf.result.Latencies;
import io.weir.perf.result.Request;
import io.weir.perf.result.RunResult;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.GatlingLoad;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.RunningServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Rounds with a fixed number of callers at a service. Each round is a step of the run. */
final class ClosedRounds {

    private static final Duration ARRIVAL = Duration.ofSeconds(1);
    private static final Duration LAST_ANSWERS = Duration.ofSeconds(2);

    /** When callers send requests. */
    enum RequestMode {
        /** After each answer; the step begins when all callers have arrived. */
        REPEAT,
        /** After each answer; the step begins with the first caller. */
        REPEAT_FROM_ARRIVAL,
        /** Once, all at the beginning. */
        ONCE
    }

    /** A round; {@code x} is the number that the step is plotted over, or empty. */
    private record CallersRound(String label, String x, String path, int callers, Duration length, RequestMode mode) {

        String name() {
            return x.isEmpty() ? label : label + '@' + x;
        }

        /** The time before the step. */
        Duration lead() {
            return mode == RequestMode.REPEAT ? ARRIVAL : Duration.ZERO;
        }

        /** The time before the step, the step, and the time for the last answers. */
        Duration total() {
            return mode == RequestMode.ONCE ? length : ARRIVAL.plus(length).plus(LAST_ANSWERS);
        }

        /** For the simulation. */
        String text() {
            String once = Boolean.toString(mode == RequestMode.ONCE);
            return String.join("|", name(), path, "" + callers, "" + total().toSeconds(), once);
        }
    }

    private final ExperimentContext context;
    private final List<CallersRound> rounds = new ArrayList<>();
    private final List<String> assertions = new ArrayList<>();
    private final Map<String, List<Request>> requests = new TreeMap<>();
    private Duration timeout = Duration.ofMinutes(5);

    ClosedRounds(ExperimentContext context) {
        this.context = context;
    }

    /** How long a caller waits for an answer; by default five minutes. */
    ClosedRounds timeout(Duration time) {
        timeout = time;
        return this;
    }

    /** A round that is not compared, because a cold JVM is slow. */
    ClosedRounds warmUp(String path, int callers, Duration length) {
        return then(RequestMode.REPEAT, RunResult.WARM_UP, path, callers, length);
    }

    ClosedRounds then(
            RequestMode mode, String label, String path, int callers, Duration length, LoadAssertion... required) {
        return then(new CallersRound(label, "", path, callers, length, mode), required);
    }

    /** A round of a series over the number of callers; all its requests must succeed. */
    ClosedRounds thenInSeries(String label, String path, int callers, Duration length) {
        CallersRound round =
                new CallersRound(label, Integer.toString(callers), path, callers, length, RequestMode.REPEAT);
        return then(round, LoadAssertion.ALL_SUCCEED);
    }

    private ClosedRounds then(CallersRound round, LoadAssertion... required) {
        rounds.add(round);
        for (LoadAssertion assertion : required) {
            assertions.add(assertion.text(round.name()));
        }
        return this;
    }

    /** Called at the beginning and at the end of each step. */
    interface StepListener {

        default void begins(String step) {}

        default void ends(String step) {}
    }

    void run(RunningServer service, String label, String requestName) throws InterruptedException {
        run(service, label, requestName, new StepListener() {});
    }

    /** Runs all rounds. A step without all its requests makes the run invalid. */
    void run(RunningServer service, String label, String requestName, StepListener listener)
            throws InterruptedException {
        Map<String, String> settings = Map.of(
                "url", service.url(),
                "request", requestName,
                "patience", Long.toString(timeout.toMillis()),
                "rounds", rounds.stream().map(CallersRound::text).collect(Collectors.joining(";")));
        GatlingLoad load = context.load(new GatlingLoad.GatlingPlan("ClosedModel", label, settings, assertions, true));
        long at = load.awaitBegin();
        Map<String, Long> begun = new TreeMap<>();
        for (CallersRound round : rounds) {
            long begin = at + round.lead().toMillis();
            context.sleepUntil(begin);
            context.beginStep(begin, round.label(), round.x());
            begun.put(round.name(), begin);
            listener.begins(round.name());
            if (round.equals(rounds.getLast())) {
                load.mayEnd();
            }
            context.sleepUntil(begin + round.length().toMillis());
            context.endStep();
            listener.ends(round.name());
            at += round.total().toMillis();
        }
        GatlingLoad.Result result = load.awaitEnd();
        for (CallersRound round : rounds) {
            long from = begun.getOrDefault(round.name(), 0L);
            long to = from + round.length().toMillis();
            List<Request> sent = result.requests().stream()
                    .filter(one -> one.atMillis() >= from && one.atMillis() < to)
                    .toList();
            requests.put(round.name(), sent);
            boolean once = round.mode() == RequestMode.ONCE;
            if (once ? sent.size() != round.callers() : sent.isEmpty()) {
                String expected = once ? Integer.toString(round.callers()) : "at least one";
                context.invalidate(String.format(
                        Locale.ROOT,
                        "%s: %d requests were sent in the step (expected: %s)",
                        round.name(),
                        sent.size(),
                        expected));
            }
        }
    }

    List<Request> requests(String step) {
        return requests.getOrDefault(step, List.of());
    }

    long successes(String step) {
        return requests(step).stream().filter(Request::succeeded).count();
    }

    /** The mean latency of a step's successes, in milliseconds. */
    double mean(String step) {
        return Latencies.ofSuccesses(requests(step)).mean();
    }
}
