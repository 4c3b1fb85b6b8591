package io.weir.perf.scenario;

import io.weir.perf.LightBackend;
import io.weir.perf.result.Latencies;
import io.weir.perf.result.OutcomeKind;
import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Request;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RunningServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import reactor.core.publisher.Mono;

/** A backend hangs and heals repeatedly. Its neighbour must not notice. */
final class HangScenario {

    private static final Duration SERVICE_TIME = Duration.ofMillis(20);

    private static final int LIMIT = 20;
    /** The default of {@code stall-calls}. */
    private static final int STALL_CALLS = 5;

    private static final int PROBE_INTERVALS_MILLIS = 1_000;

    /** The deadline of a call; a request that takes as long has waited for it. */
    private static final long DEADLINE_MICROS = 800_000;

    private final Scenario.Options options;

    /** One hang: the neighbour's requests before and during it, the backend's during and after it. */
    private record HangRound(
            List<Request> neighbourBefore, List<Request> neighbourDuring, List<Request> during, List<Request> after) {

        long waited() {
            return during.stream()
                    .filter(one -> one.micros() >= DEADLINE_MICROS)
                    .count();
        }

        double p99Before() {
            return Request.percentile(neighbourBefore, 99);
        }

        double p99During() {
            return Request.percentile(neighbourDuring, 99);
        }
    }

    HangScenario(Scenario.Options options) {
        this.options = options;
    }

    PromiseTable run() throws Exception {
        List<String> properties = new ArrayList<>(List.of(
                "--weir.backends.mvc.bulkhead.max-concurrent-calls=" + LIMIT,
                "--weir.backends.reactive.bulkhead.max-concurrent-calls=64"));
        properties.addAll(options.disable("mvc"));
        try (LightBackend sick = backend();
                LightBackend healthy = backend();
                Processes processes = Processes.unlimited()) {
            RunningServer gateway = options.startGateway(processes, sick.port(), healthy.port(), properties);
            OpenLoad load = Scenario.load(gateway.port(), "/mvc/1");
            OpenLoad neighbour = Scenario.load(gateway.port(), "/reactive/1");
            Duration warmUp = options.seconds(5, 15);
            CompletableFuture<List<Request>> neighbourWarmUp = neighbour.send(neighbourRate(), warmUp);
            load.send(rate(), warmUp).join();
            neighbourWarmUp.join();
            List<HangRound> rounds = new ArrayList<>();
            int count = options.quick() ? 1 : 5;
            for (int i = 0; i < count; i++) {
                System.out.printf(Locale.ROOT, "hang %d of %d%n", i + 1, count);
                rounds.add(round(sick, load, neighbour));
            }
            return promises(rounds);
        }
    }

    private static LightBackend backend() {
        return new LightBackend(() -> Mono.delay(SERVICE_TIME).then());
    }

    /** A quick run makes little load, so that a busy machine does not matter. */
    private int rate() {
        return options.quick() ? 100 : 300;
    }

    private int neighbourRate() {
        return options.quick() ? 100 : 800;
    }

    private HangRound round(LightBackend sick, OpenLoad load, OpenLoad neighbour) throws InterruptedException {
        Duration before = options.seconds(3, 15);
        Duration during = options.seconds(5, 15);
        Duration total = before.plus(during).plus(options.seconds(3, 10));
        CompletableFuture<List<Request>> neighbourRequests = neighbour.send(neighbourRate(), total);
        CompletableFuture<List<Request>> requests = load.send(rate(), total);
        Thread.sleep(before);
        long hangs = OpenLoad.nowMillis();
        sick.hang();
        // At a random moment between two probes.
        Thread.sleep(during.plusMillis(ThreadLocalRandom.current().nextInt(PROBE_INTERVALS_MILLIS)));
        long heals = OpenLoad.nowMillis();
        sick.heal();
        List<Request> own = requests.join();
        List<Request> others = neighbourRequests.join();
        return new HangRound(
                between(others, 0, hangs),
                between(others, hangs, heals),
                between(own, hangs, heals),
                between(own, heals, Long.MAX_VALUE));
    }

    private static List<Request> between(List<Request> requests, long fromMillis, long toMillis) {
        return requests.stream()
                .filter(one -> one.atMillis() >= fromMillis && one.atMillis() < toMillis)
                .toList();
    }

    private PromiseTable promises(List<HangRound> rounds) {
        boolean quick = options.quick();
        List<Request> neighbour = rounds.stream()
                .flatMap(round -> round.neighbourDuring().stream())
                .toList();
        List<Request> during =
                rounds.stream().flatMap(round -> round.during().stream()).toList();
        List<Request> refused = during.stream()
                .filter(one -> OutcomeKind.of(one.outcome()) == OutcomeKind.SHED)
                .toList();
        PromiseTable promises = new PromiseTable();
        promises.atLeast(
                "neighbour: answered 200 during the hang", quick ? 97 : 100, Request.successPercent(neighbour));
        // Those in flight when the breaker opens, and those that open it.
        int mayWait = LIMIT + STALL_CALLS;
        long waited = rounds.stream().mapToLong(HangRound::waited).max().orElseThrow();
        promises.add(
                "requests during the hang that wait for the whole deadline",
                "at most " + mayWait,
                String.valueOf(waited),
                waited <= mayWait);
        promises.atLeast(
                "answered 200 from the heal on (median of " + rounds.size() + ")",
                quick ? 85 : 98.5,
                Latencies.median(rounds.stream()
                        .map(round -> Request.successPercent(round.after()))
                        .toList()));
        promises.add(
                "refused during the hang",
                "most",
                refused.size() + " of " + during.size(),
                refused.size() * 2 > during.size());
        if (!quick) {
            addLatencies(promises, rounds, refused);
        }
        return promises;
    }

    private static void addLatencies(PromiseTable promises, List<HangRound> rounds, List<Request> refused) {
        double excess = Latencies.median(rounds.stream()
                .map(round ->
                        Math.min(round.p99During() / round.p99Before() / 1.25, round.p99During() - round.p99Before()))
                .toList());
        double p99During =
                Latencies.median(rounds.stream().map(HangRound::p99During).toList());
        double p99Before =
                Latencies.median(rounds.stream().map(HangRound::p99Before).toList());
        promises.add(
                "neighbour: p99, during and before the hang (medians of " + rounds.size() + ")",
                "1.25 times, or +1 ms",
                String.format(Locale.ROOT, "%.1f ms, %.1f ms", p99During, p99Before),
                excess <= 1);
        double median = Request.percentile(refused, 50);
        promises.add(
                "latency of a refusal (median)",
                "at most 2 ms",
                String.format(Locale.ROOT, "%.2f ms", median),
                median <= 2);
    }
}
