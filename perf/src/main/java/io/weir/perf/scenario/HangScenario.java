package io.weir.perf.scenario;

import io.weir.perf.LightBackend;
import io.weir.perf.WorkerService;
import io.weir.perf.result.OutcomeKind;
import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Requests;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RunningServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/**
 * A backend hangs and heals repeatedly, at a low and at a high rate. It never answers the requests that came
 * while it hung. Its neighbour must not notice.
 */
final class HangScenario {

    private static final Duration SERVICE_TIME = Duration.ofMillis(20);

    private static final int STALL_CALLS = 5;

    /** The permits of a ramp at its start. */
    private static final int RAMP_START = 5;

    /**
     * Longer than the time between two probes: a quarter of {@code stall-duration}, which is half the
     * deadline.
     */
    private static final int PROBE_INTERVALS_MILLIS = 1_000;

    private static final int PROBE_INTERVAL_MILLIS = 100;

    /** The deadline of a call; a request that takes as long has waited for it. */
    private static final long DEADLINE_MICROS = 800_000;

    /** Beyond the accounted time, for queues and jitter. */
    private static final int SLACK_MILLIS = 200;

    private final Scenario.Options options;
    private final WorkerService service = WorkerService.unlimited(SERVICE_TIME);

    private record Traffic(int rate, int limit, int neighbourRate) {

        /** The time without answers after a heal: a probe, its answer, and the ramp. */
        double recoveryMillis() {
            double doublings = Math.log((double) limit / RAMP_START) / Math.log(2);
            return PROBE_INTERVAL_MILLIS * 1.1 + (1 + doublings) * SERVICE_TIME.toMillis() + SLACK_MILLIS;
        }
    }

    private record HangRound(Episode backend, Episode neighbour) {

        double waited() {
            return backend.during().count(one -> one.micros() >= DEADLINE_MICROS);
        }

        double p99Before() {
            return neighbour.before().percentile(99);
        }

        double p99During() {
            return neighbour.during().percentile(99);
        }

        /** At most 1 if the neighbour's p99 has grown by a quarter or by 1 ms. */
        double growth() {
            return Math.min(p99During() / p99Before() / 1.25, p99During() - p99Before());
        }

        double lastLossMillis() {
            return backend.after().failures().stream()
                    .mapToDouble(one -> one.atMillis() - backend.healAt())
                    .max()
                    .orElse(0);
        }
    }

    private record HangRounds(List<HangRound> all) {

        Requests requests(Function<HangRound, Requests> part) {
            return Requests.of(all.stream().map(part).toList());
        }

        double median(ToDoubleFunction<HangRound> value) {
            return Requests.median(all.stream().mapToDouble(value).boxed().toList());
        }

        double max(ToDoubleFunction<HangRound> value) {
            return all.stream().mapToDouble(value).max().orElseThrow();
        }
    }

    HangScenario(Scenario.Options options) {
        this.options = options;
    }

    PromiseTable run() throws Exception {
        // A quick run makes little load, so that a busy machine does not matter.
        List<Traffic> all = options.quick()
                ? List.of(new Traffic(100, 20, 100))
                : List.of(new Traffic(300, 20, 800), new Traffic(800, 64, 300));
        PromiseTable promises = new PromiseTable();
        try (LightBackend sick = LightBackend.answeringOk(service);
                LightBackend healthy = LightBackend.answeringOk(WorkerService.unlimited(SERVICE_TIME))) {
            for (Traffic traffic : all) {
                try (Processes processes = Processes.unlimited()) {
                    List<String> properties = new ArrayList<>(options.properties(
                            "--weir.backends.mvc.bulkhead.max-concurrent-calls=" + traffic.limit(),
                            "--weir.backends.reactive.bulkhead.max-concurrent-calls=64"));
                    properties.addAll(options.calm());
                    RunningServer gateway = options.startGateway(processes, sick.port(), healthy.port(), properties);
                    addPromises(promises.of(traffic.rate() + "/s: "), traffic, measure(gateway, traffic));
                }
            }
        }
        return promises;
    }

    private HangRounds measure(RunningServer gateway, Traffic traffic) throws InterruptedException {
        OpenLoad load = Scenario.load(gateway.port(), "/mvc/1");
        OpenLoad neighbour = Scenario.load(gateway.port(), "/reactive/1");
        Duration warmUp = options.seconds(3, 15);
        CompletableFuture<Requests> neighbourWarmUp = neighbour.send(traffic.neighbourRate(), warmUp);
        load.run(traffic.rate(), warmUp);
        neighbourWarmUp.join();
        List<HangRound> rounds = new ArrayList<>();
        int count = options.quick() ? 1 : 5;
        for (int i = 0; i < count; i++) {
            System.out.printf("hang %d of %d at %d/s%n", i + 1, count, traffic.rate());
            rounds.add(round(load, neighbour, traffic));
        }
        return new HangRounds(rounds);
    }

    private HangRound round(OpenLoad load, OpenLoad neighbour, Traffic traffic) throws InterruptedException {
        Duration before = options.seconds(3, 6);
        // At a random moment between two probes.
        Duration during =
                options.seconds(4, 8).plusMillis(ThreadLocalRandom.current().nextInt(PROBE_INTERVALS_MILLIS));
        Duration total = before.plus(during).plus(options.seconds(3, 10));
        CompletableFuture<Requests> neighbourRequests = neighbour.send(traffic.neighbourRate(), total);
        CompletableFuture<Requests> requests = load.send(traffic.rate(), total);
        Thread.sleep(before);
        long hangs = OpenLoad.nowMillis();
        service.hang();
        Thread.sleep(during);
        long heals = OpenLoad.nowMillis();
        service.heal();
        return new HangRound(
                new Episode(requests.join(), hangs, heals), new Episode(neighbourRequests.join(), hangs, heals));
    }

    private void addPromises(PromiseTable promises, Traffic traffic, HangRounds rounds) {
        boolean quick = options.quick();
        Requests during = rounds.requests(round -> round.backend().during());
        Requests refused = during.where(one -> OutcomeKind.of(one.outcome()) == OutcomeKind.SHED);
        double neighbour = rounds.requests(round -> round.neighbour().during()).successPercent();
        promises.atLeast("neighbour: answered 200 during the hang", quick ? 97 : 100, neighbour, "%");
        // Those in flight when the breaker opens, and those that open it.
        int waiting = traffic.limit() + STALL_CALLS;
        double waited = rounds.max(HangRound::waited);
        promises.atMost("requests during the hang that wait for the whole deadline", waiting, waited, "");
        String medians = " (median of " + rounds.all().size() + ")";
        double after = rounds.median(round -> round.backend().after().successPercent());
        promises.atLeast("answered 200 from the heal on" + medians, quick ? 85 : 98.5, after, "%");
        String share = refused.size() + " of " + during.size();
        promises.add("refused during the hang", "most", share, refused.size() * 2 > during.size());
        if (!quick) {
            addLosses(promises, traffic, rounds);
            addLatencies(promises, refused, rounds);
        }
    }

    /** All losses after a heal belong to the probe, its answer, and the ramp. */
    private static void addLosses(PromiseTable promises, Traffic traffic, HangRounds rounds) {
        String text = "last request that is lost after the heal (longest of "
                + rounds.all().size() + ")";
        promises.atMost(text, traffic.recoveryMillis(), rounds.max(HangRound::lastLossMillis), "ms");
        List<Long> first = rounds.all().stream()
                .map(round -> Math.round(round.backend().firstAnswerMillis()))
                .sorted()
                .toList();
        Requests lost = rounds.requests(round -> round.backend().after().failures());
        promises.show(
                "first answers after the heal; lost requests by outcome", first + " ms; " + lost.countByOutcome());
    }

    private static void addLatencies(PromiseTable promises, Requests refused, HangRounds rounds) {
        String text = "neighbour: p99, during and before the hang (medians of "
                + rounds.all().size() + ")";
        String during = PromiseTable.number(rounds.median(HangRound::p99During), "ms");
        String before = PromiseTable.number(rounds.median(HangRound::p99Before), "ms");
        boolean holds = rounds.median(HangRound::growth) <= 1;
        promises.add(text, "1.25 times, or +1 ms", during + ", " + before, holds);
        promises.atMost("latency of a refusal (median)", 2, refused.percentile(50), "ms");
    }
}
