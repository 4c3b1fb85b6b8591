package io.weir.perf.experiment;

import io.weir.perf.result.Requests;
import io.weir.perf.result.RunResult;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.GatlingLoad;
import io.weir.perf.run.Host;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.TestServers;
import io.weir.perf.run.Wrk;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A service and the rounds of its callers, of which there is a fixed number. Each round is a step of the run.
 */
final class ClosedRounds {

    private static final Duration STEADY_ROUND = Duration.ofSeconds(5);
    private static final int ARRIVAL_SECONDS = 1;
    private static final int LAST_ANSWERS_SECONDS = 2;

    enum RequestMode {
        /** After each answer; the step begins when all callers have arrived. */
        REPEAT,
        /** After each answer; the step begins with the first caller. */
        REPEAT_FROM_ARRIVAL,
        /** Once, all at the beginning. */
        ONCE
    }

    /** A round; {@code x} is the number that the step is plotted over, or empty. */
    private record CallersRound(
            String label, String x, String path, int callers, int seconds, RequestMode mode, Duration thinkTime) {
        String name() {
            return x.isEmpty() ? label : label + '@' + x;
        }

        int leadSeconds() {
            return mode == RequestMode.REPEAT ? ARRIVAL_SECONDS : 0;
        }

        int totalSeconds() {
            return mode == RequestMode.ONCE ? seconds : ARRIVAL_SECONDS + seconds + LAST_ANSWERS_SECONDS;
        }

        Map<String, ?> plan() {
            boolean once = mode == RequestMode.ONCE;
            return Map.of(
                    "name",
                    name(),
                    "path",
                    path,
                    "callers",
                    callers,
                    "seconds",
                    totalSeconds(),
                    "once",
                    once,
                    "thinkMillis",
                    thinkTime.toMillis());
        }
    }

    private final String label;
    private final String requestName;
    private final String stack;
    private final List<String> serviceSettings;
    private final List<CallersRound> rounds = new ArrayList<>();
    private final List<LoadAssertion> assertions = new ArrayList<>();
    private final Map<String, Requests> requests = new TreeMap<>();
    private String readyPath = "/delay?ms=1";
    private int steadyRounds;
    private Duration timeout = Duration.ofMinutes(5);
    private Duration thinkTime = Duration.ZERO;

    ClosedRounds(String label, String requestName, String stack, String... serviceSettings) {
        this.label = label;
        this.requestName = requestName;
        this.stack = stack;
        this.serviceSettings = List.of(serviceSettings);
    }

    String label() {
        return label;
    }

    /** The path that the service answers when it is ready; by default one that answers at once. */
    ClosedRounds readyAt(String path) {
        readyPath = path;
        return this;
    }

    /** How long a caller waits for an answer; by default five minutes. */
    ClosedRounds timeout(Duration time) {
        timeout = time;
        return this;
    }

    /** How long a caller of the following rounds waits after each answer; by default not at all. */
    ClosedRounds thinkTime(Duration time) {
        thinkTime = time;
        return this;
    }

    /** Before all rounds, wrk warms the service up until its rate is steady, for at most so many rounds. */
    ClosedRounds steady(int mostRounds) {
        steadyRounds = mostRounds;
        return this;
    }

    /** A round that is not compared, because a cold JVM is slow. */
    ClosedRounds warmUp(String path, int callers, int seconds) {
        return then(RequestMode.REPEAT, RunResult.WARM_UP, path, callers, seconds);
    }

    ClosedRounds then(String name, String path, int callers, int seconds, LoadAssertion... required) {
        return then(RequestMode.REPEAT, name, path, callers, seconds, required);
    }

    ClosedRounds then(RequestMode mode, String name, String path, int callers, int seconds, LoadAssertion... required) {
        return then(new CallersRound(name, "", path, callers, seconds, mode, thinkTime), required);
    }

    /** A round of a series over the number of callers; all its requests must succeed. */
    ClosedRounds thenInSeries(String name, String path, int callers, int seconds) {
        CallersRound round =
                new CallersRound(name, "" + callers, path, callers, seconds, RequestMode.REPEAT, thinkTime);
        return then(round, LoadAssertion.ALL_SUCCEED);
    }

    private ClosedRounds then(CallersRound round, LoadAssertion... required) {
        rounds.add(round);
        List.of(required).forEach(assertion -> assertions.add(assertion.of(round.name())));
        return this;
    }

    RunningServer start(TestServers servers) throws InterruptedException {
        return servers.service(stack, readyPath, serviceSettings.toArray(String[]::new));
    }

    /** Runs all rounds. A step without all its requests makes the run invalid. */
    void run(RunningServer service, ClosedExperiment experiment, ExperimentContext context)
            throws InterruptedException {
        Map<String, ?> settings = Map.of(
                "url", service.url(),
                "request", requestName,
                "timeoutMillis", timeout.toMillis(),
                "rounds", rounds.stream().map(CallersRound::plan).toList());
        CallersRound first = rounds.getFirst();
        if (steadyRounds > 0 && Host.has(Wrk.PROGRAM)) {
            String uri = service.url() + first.path();
            int taken = Wrk.warmUp(context.processes(), List.of(), first.callers(), STEADY_ROUND, steadyRounds, uri);
            context.fact(label + ".warm-up", (double) taken * STEADY_ROUND.toSeconds(), "s until the rate was steady");
        }
        context.warmsUpFor(first.label().equals(RunResult.WARM_UP) ? first.seconds() : 0);
        GatlingLoad load = context.load(new GatlingLoad.GatlingPlan("ClosedModel", label, settings, assertions, true));
        long at = load.awaitBegin();
        Map<CallersRound, Long> begun = new LinkedHashMap<>();
        for (CallersRound round : rounds) {
            long begin = at + 1000L * round.leadSeconds();
            context.sleepUntil(begin);
            context.beginStep(begin, round.label(), round.x());
            begun.put(round, begin);
            experiment.stepBegins(service);
            if (round.equals(rounds.getLast())) {
                load.mayEnd();
            }
            context.sleepUntil(begin + 1000L * round.seconds());
            context.endStep();
            if (!round.label().equals(RunResult.WARM_UP)) {
                experiment.stepEnds(round.name(), service, context);
            }
            at += 1000L * round.totalSeconds();
        }
        GatlingLoad.Result result = load.awaitEnd();
        begun.forEach((round, begin) -> {
            Requests sent = result.requests().sentBetween(begin, begin + 1000L * round.seconds());
            requests.put(round.name(), sent);
            boolean once = round.mode() == RequestMode.ONCE;
            if (once ? sent.size() != round.callers() : sent.isEmpty()) {
                String expected = once ? Integer.toString(round.callers()) : "at least one";
                context.invalidate(round.name() + ": " + sent.size() + " requests were sent in the step (expected: "
                        + expected + ")");
            }
        });
    }

    Requests requests(String step) {
        return requests.getOrDefault(step, new Requests(List.of()));
    }

    long successes(String step) {
        return requests(step).successes().size();
    }

    /** The mean latency of a step's successes, in milliseconds. */
    double mean(String step) {
        return requests(step).successes().mean();
    }
}
