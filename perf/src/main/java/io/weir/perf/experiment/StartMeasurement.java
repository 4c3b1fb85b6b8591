package io.weir.perf.experiment;

import io.weir.perf.result.Requests;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.ManagedProcess;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.run.PeerProxy.Places;
import io.weir.perf.run.RunFailure;
import io.weir.perf.run.Wrk;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** One start of a program: its costs, and what the first callers notice. */
record StartMeasurement(
        StartProgram program, Places places, ManagedProcess process, double cpuSeconds, double wallSeconds) {

    /** As in all configurations of {@code perf/peers}. */
    private static final double DEADLINE_MILLIS = 800;

    private static final Duration TIMEOUT = Duration.ofSeconds(2);
    private static final Duration START = Duration.ofMinutes(2);
    private static final int ANSWER_BYTES = 2;
    private static final int MAX_CONNECTIONS = 500;
    private static final int POLL_MILLIS = 10;
    private static final int WRK_CONNECTIONS = 32;

    /** Starts a program; returns when it is ready. */
    static StartMeasurement of(StartProgram program, Places places, ExperimentContext context)
            throws InterruptedException {
        List<String> command = program.command().apply(places);
        long began = System.nanoTime();
        ManagedProcess process = context.start(program.label(), command);
        while (!program.isReady(places)) {
            if (!process.isAlive() || System.nanoTime() - began > START.toNanos()) {
                throw new RunFailure(program.label() + " does not become ready: " + process.output());
            }
            Thread.sleep(POLL_MILLIS);
        }
        double cpuSeconds = process.cpuTime().toNanos() / 1e9;
        return new StartMeasurement(program, places, process, cpuSeconds, (System.nanoTime() - began) / 1e9);
    }

    /** Callers that do not wait for answers. */
    static OpenLoad load(Places places) {
        return new OpenLoad(places.port(), List.of("/served/1"), MAX_CONNECTIONS, TIMEOUT, ANSWER_BYTES);
    }

    /** Sends requests at a fixed rate from now on, and records their outcomes. */
    void measureFirstRequests(int perSecond, Duration time, ExperimentContext context) throws InterruptedException {
        String label = program.label() + ": first requests";
        OpenLoad load = new OpenLoad(
                places.port(), List.of("/served/" + program.label()), MAX_CONNECTIONS, TIMEOUT, ANSWER_BYTES);
        Requests requests = context.ownLoad(label, () -> load.run(perSecond, time));
        String prefix = program.label() + ".first-requests.";
        context.fact(prefix + "late", (double) late(requests), "of " + requests.size());
        context.fact(prefix + "refused", (double) refused(requests), "of " + requests.size());
        context.fact(prefix + "p99", requests.successes().percentile(99), "ms");
        context.fact(prefix + "max", requests.successes().percentile(100), "ms");
    }

    /** The requests that were not answered within the deadline. */
    static long late(Requests requests) {
        return requests.count(one -> one.millis() > DEADLINE_MILLIS || isTimeout(one.outcome()));
    }

    /** The requests that got another answer than the backend's, or none, for another reason than time. */
    static long refused(Requests requests) {
        return requests.failures().count(one -> one.millis() <= DEADLINE_MILLIS && !isTimeout(one.outcome()));
    }

    private static boolean isTimeout(String outcome) {
        return List.of("timeout", "deadline-exceeded", "status-504").contains(outcome);
    }

    /**
     * Sends as much as the program answers, second by second, and then after a warm-up; records after how
     * many seconds the rate was half and 80 % of the later one.
     */
    void measureRamp(int seconds, int warmUpSeconds, int peakSeconds, ExperimentContext context)
            throws InterruptedException {
        String label = program.label();
        context.beginStep(label + ": ramp");
        long began = System.nanoTime();
        List<RampSecond> ramp = new ArrayList<>();
        for (int i = 0; i < seconds; i++) {
            double rate = rate(1, context);
            context.sample("answered per second, from readiness on", label, rate);
            ramp.add(new RampSecond((System.nanoTime() - began) / 1e9, rate));
        }
        context.beginStep(label + ": warm-up");
        double unused = rate(warmUpSeconds, context);
        context.beginStep(label + ": peak");
        long usedBefore = process.cpuTime().toNanos();
        long peakBegan = System.nanoTime();
        double peak = rate(peakSeconds, context);
        double busy = 100.0 * (process.cpuTime().toNanos() - usedBefore) / (System.nanoTime() - peakBegan);
        context.endStep();
        context.fact(label + ".peak.rate", peak, "1/s");
        context.fact(label + ".peak.busy", busy / context.cores(), "% of its cores");
        context.fact(label + ".ramp.half", secondsTo(0.5 * peak, ramp), "s");
        context.fact(label + ".ramp.80-percent", secondsTo(0.8 * peak, ramp), "s");
    }

    /**
     * A second of the ramp.
     *
     * @param endedAt seconds from readiness to its end
     * @param rate answers per second
     */
    record RampSecond(double endedAt, double rate) {}

    /** The end of the first second with such a rate; NaN: none had it. */
    static double secondsTo(double rate, List<RampSecond> ramp) {
        return ramp.stream()
                .filter(second -> second.rate() >= rate)
                .mapToDouble(RampSecond::endedAt)
                .findFirst()
                .orElse(Double.NaN);
    }

    /** The rate of successes; 0 if some requests were not answered. */
    private double rate(int seconds, ExperimentContext context) throws InterruptedException {
        try {
            Wrk result = Wrk.run(
                    context.processes(),
                    List.of(),
                    WRK_CONNECTIONS,
                    Duration.ofSeconds(seconds),
                    places.url("/served/" + program.label()));
            return result.perSecond() * (result.requests() - result.refused()) / Math.max(1, result.requests());
        } catch (Wrk.UnansweredException e) {
            return 0;
        }
    }
}
