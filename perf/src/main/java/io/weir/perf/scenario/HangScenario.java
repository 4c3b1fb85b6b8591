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
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import reactor.core.publisher.Mono;

/**
 * A backend hangs and heals repeatedly, at a low and at a high rate. It never answers the requests that came
 * while it hung. Its neighbour must not notice.
 */
final class HangScenario {

    private static final Duration SERVICE_TIME = Duration.ofMillis(20);

    /** The default of {@code stall-calls}. */
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
    private final SwallowingService service = new SwallowingService(SERVICE_TIME);

    /** A backend's rate, its limit, and the rate of its neighbour. */
    private record Traffic(int rate, int limit, int neighbourRate) {

        /** The time without answers after a heal: a probe, its answer, and the ramp. */
        double recoveryMillis() {
            double doublings = Math.log((double) limit / RAMP_START) / Math.log(2);
            return PROBE_INTERVAL_MILLIS * 1.1 + (1 + doublings) * SERVICE_TIME.toMillis() + SLACK_MILLIS;
        }
    }

    /** One hang: the neighbour's requests before and during it, the backend's during and after it. */
    private record HangRound(
            List<Request> neighbourBefore,
            List<Request> neighbourDuring,
            List<Request> during,
            List<Request> after,
            long healMillis) {

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

        double firstAnswerMillis() {
            return after.stream()
                    .filter(Request::succeeded)
                    .mapToDouble(one -> one.endMillis() - healMillis)
                    .min()
                    .orElse(Double.POSITIVE_INFINITY);
        }

        List<Request> lost() {
            return after.stream().filter(one -> !one.succeeded()).toList();
        }

        double lastLossMillis() {
            return lost().stream()
                    .mapToDouble(one -> one.atMillis() - healMillis)
                    .max()
                    .orElse(0);
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
        try (LightBackend sick = new LightBackend(service);
                LightBackend healthy =
                        new LightBackend(() -> Mono.delay(SERVICE_TIME).then())) {
            for (Traffic traffic : all) {
                try (Processes processes = Processes.unlimited()) {
                    List<String> properties = new ArrayList<>(List.of(
                            "--weir.backends.mvc.bulkhead.max-concurrent-calls=" + traffic.limit(),
                            "--weir.backends.reactive.bulkhead.max-concurrent-calls=64"));
                    properties.addAll(options.disable("mvc"));
                    RunningServer gateway = options.startGateway(processes, sick.port(), healthy.port(), properties);
                    addPromises(promises, traffic, measure(gateway, traffic));
                }
            }
        }
        return promises;
    }

    private List<HangRound> measure(RunningServer gateway, Traffic traffic) throws InterruptedException {
        OpenLoad load = Scenario.load(gateway.port(), "/mvc/1");
        OpenLoad neighbour = Scenario.load(gateway.port(), "/reactive/1");
        Duration warmUp = options.seconds(3, 15);
        CompletableFuture<List<Request>> neighbourWarmUp = neighbour.send(traffic.neighbourRate(), warmUp);
        load.send(traffic.rate(), warmUp).join();
        neighbourWarmUp.join();
        List<HangRound> rounds = new ArrayList<>();
        int count = options.quick() ? 1 : 5;
        for (int i = 0; i < count; i++) {
            System.out.printf(Locale.ROOT, "hang %d of %d at %d/s%n", i + 1, count, traffic.rate());
            rounds.add(round(load, neighbour, traffic));
        }
        return rounds;
    }

    private HangRound round(OpenLoad load, OpenLoad neighbour, Traffic traffic) throws InterruptedException {
        Duration before = options.seconds(3, 6);
        // At a random moment between two probes.
        Duration during =
                options.seconds(4, 8).plusMillis(ThreadLocalRandom.current().nextInt(PROBE_INTERVALS_MILLIS));
        Duration total = before.plus(during).plus(options.seconds(3, 10));
        CompletableFuture<List<Request>> neighbourRequests = neighbour.send(traffic.neighbourRate(), total);
        CompletableFuture<List<Request>> requests = load.send(traffic.rate(), total);
        Thread.sleep(before);
        long hangs = OpenLoad.nowMillis();
        service.hang();
        Thread.sleep(during);
        long heals = OpenLoad.nowMillis();
        service.heal();
        List<Request> own = requests.join();
        List<Request> others = neighbourRequests.join();
        return new HangRound(
                between(others, 0, hangs),
                between(others, hangs, heals),
                between(own, hangs, heals),
                between(own, heals, Long.MAX_VALUE),
                heals);
    }

    private static List<Request> between(List<Request> requests, long fromMillis, long toMillis) {
        return requests.stream()
                .filter(one -> one.atMillis() >= fromMillis && one.atMillis() < toMillis)
                .toList();
    }

    private void addPromises(PromiseTable promises, Traffic traffic, List<HangRound> rounds) {
        boolean quick = options.quick();
        List<Request> neighbour = rounds.stream()
                .flatMap(round -> round.neighbourDuring().stream())
                .toList();
        List<Request> during =
                rounds.stream().flatMap(round -> round.during().stream()).toList();
        List<Request> refused = during.stream()
                .filter(one -> OutcomeKind.of(one.outcome()) == OutcomeKind.SHED)
                .toList();
        String text = traffic.rate() + "/s: ";
        promises.atLeast(
                text + "neighbour: answered 200 during the hang", quick ? 97 : 100, Request.successPercent(neighbour));
        // Those in flight when the breaker opens, and those that open it.
        int mayWait = traffic.limit() + STALL_CALLS;
        long waited = rounds.stream().mapToLong(HangRound::waited).max().orElseThrow();
        promises.add(
                text + "requests during the hang that wait for the whole deadline",
                "at most " + mayWait,
                String.valueOf(waited),
                waited <= mayWait);
        promises.atLeast(
                text + "answered 200 from the heal on (median of " + rounds.size() + ")",
                quick ? 85 : 98.5,
                Latencies.median(rounds.stream()
                        .map(round -> Request.successPercent(round.after()))
                        .toList()));
        promises.add(
                text + "refused during the hang",
                "most",
                refused.size() + " of " + during.size(),
                refused.size() * 2 > during.size());
        if (!quick) {
            addLosses(promises, text, traffic, rounds);
            addLatencies(promises, text, rounds, refused);
        }
    }

    /** All losses after a heal belong to the probe, its answer, and the ramp. */
    private static void addLosses(PromiseTable promises, String text, Traffic traffic, List<HangRound> rounds) {
        double last =
                rounds.stream().mapToDouble(HangRound::lastLossMillis).max().orElseThrow();
        promises.add(
                text + "last request that is lost after the heal (longest of " + rounds.size() + ")",
                String.format(Locale.ROOT, "at most %.0f ms", traffic.recoveryMillis()),
                String.format(Locale.ROOT, "%.0f ms", last),
                last <= traffic.recoveryMillis());
        List<Double> first =
                rounds.stream().map(HangRound::firstAnswerMillis).sorted().toList();
        Map<String, Long> lost = rounds.stream()
                .flatMap(round -> round.lost().stream())
                .collect(Collectors.groupingBy(Request::outcome, TreeMap::new, Collectors.counting()));
        promises.add(
                text + "(first answers after the heal; lost requests by outcome)",
                "",
                first.stream().map(Math::round).toList() + " ms; " + lost,
                true);
    }

    private static void addLatencies(
            PromiseTable promises, String text, List<HangRound> rounds, List<Request> refused) {
        double excess = Latencies.median(rounds.stream()
                .map(round ->
                        Math.min(round.p99During() / round.p99Before() / 1.25, round.p99During() - round.p99Before()))
                .toList());
        double p99During =
                Latencies.median(rounds.stream().map(HangRound::p99During).toList());
        double p99Before =
                Latencies.median(rounds.stream().map(HangRound::p99Before).toList());
        promises.add(
                text + "neighbour: p99, during and before the hang (medians of " + rounds.size() + ")",
                "1.25 times, or +1 ms",
                String.format(Locale.ROOT, "%.1f ms, %.1f ms", p99During, p99Before),
                excess <= 1);
        double median = Request.percentile(refused, 50);
        promises.add(
                text + "latency of a refusal (median)",
                "at most 2 ms",
                String.format(Locale.ROOT, "%.2f ms", median),
                median <= 2);
    }
}
