package io.weir.perf.scenario;

import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Request;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.scenario.RefusalsScenario.Case;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import reactor.core.publisher.Mono;

/** The breaker opens for what hangs, not for what is slow; nobody waits for it, and it closes soon. */
final class BreakerCases {

    static final String LOW_TRAFFIC = "low-traffic";
    private static final String LONG_DEADLINE = "long-deadline";
    private static final String MIXED = "mixed";
    private static final String SLOW = "slow";
    private static final String IMPATIENT = "impatient";

    private static final Duration SERVICE_TIME = Duration.ofMillis(10);
    private static final int BURST = 6;
    private static final long DEADLINE_MICROS = 2_000_000;
    private static final int SLOW_CALLERS = 20;

    private final Scenario.Options options;
    /** A refusal takes far less; a caller who waits for a stalled call takes at least a second. */
    private final long waitMicros;

    private final SwallowingService lowTraffic = new SwallowingService(SERVICE_TIME);
    private final SwallowingService longDeadline = new SwallowingService(SERVICE_TIME);
    private final SwallowingService impatient = new SwallowingService(SERVICE_TIME);

    BreakerCases(Scenario.Options options) {
        this.options = options;
        this.waitMicros = options.quick() ? 900_000 : 250_000;
    }

    List<Case> light() {
        // A busy machine delays some of the calls from which the gateway learns the usual time.
        String stall = options.quick() ? "circuit-breaker: { stall-duration: 1s }" : "";
        List<Case> cases = new ArrayList<>(List.of(
                new Case(LOW_TRAFFIC, "probes", stall, request -> lowTraffic.get(), this::burstsAtLowTraffic),
                new Case(
                        LONG_DEADLINE,
                        "probes",
                        "deadline: 20s, bulkhead: { max-concurrent-calls: 10, queue-capacity: 10 }, circuit-breaker: {"
                                + " slow-call-duration-threshold: 500ms, slow-call-rate-threshold: 50 }",
                        request -> longDeadline.get(),
                        this::recoveryWithALongDeadline),
                new Case(
                        SLOW,
                        "slow-call-tolerance",
                        "",
                        request -> Mono.delay(Duration.ofMillis(1200)).then(),
                        this::slowBackend),
                new Case(IMPATIENT, "circuit-breaker", "", request -> impatient.get(), this::impatientCallers)));
        for (int rate : List.of(1, 6, 20)) {
            SwallowingService open = new SwallowingService(SERVICE_TIME);
            String name = "open-" + rate;
            cases.add(new Case(
                    name,
                    "circuit-breaker",
                    stall,
                    request -> open.get(),
                    port -> openBreaker(port, name, rate, open)));
        }
        return cases;
    }

    Case heavy() {
        // So that no pause of this machine fills the bulkhead.
        String settings = "bulkhead: { max-concurrent-calls: 1000, queue-capacity: 1000, max-wait-duration: 1s },"
                + " circuit-breaker: { sliding-window-size: 10, minimum-number-of-calls: 5 }";
        return new Case(
                MIXED,
                "slow-call-tolerance",
                settings,
                request -> Mono.delay(Duration.ofMillis(request.uri().endsWith("slow") ? 1500 : 3))
                        .then(),
                this::slowCallsAmongFastOnes);
    }

    private Consumer<PromiseTable> burstsAtLowTraffic(int port) throws InterruptedException {
        Duration interval = Duration.ofMillis(options.quick() ? 1500 : 6000);
        bursts(port, 2, interval);
        lowTraffic.hang();
        List<Request> during = bursts(port, 2, interval);
        Thread.sleep(ThreadLocalRandom.current().nextLong(interval.toMillis()));
        lowTraffic.heal();
        List<Request> after = bursts(port, options.quick() ? 3 : 6, interval);
        long waited = RefusalsScenario.count(during, one -> one.micros() >= DEADLINE_MICROS);
        long refused = during.size() - waited;
        long lost = RefusalsScenario.count(after, one -> !one.succeeded());
        return promises -> {
            promises.add(
                    "bursts of six: wait out the deadline, of two bursts during a hang",
                    "at most " + BURST + ", others refused",
                    waited + " waited, " + refused + " refused",
                    waited <= BURST && RefusalsScenario.count(during, this::isRefusedAtOnce) == refused);
            promises.add(
                    "bursts of six: not answered after the heal",
                    "at most the first burst",
                    lost + " of " + after.size(),
                    lost <= BURST && after.size() > BURST);
        };
    }

    /** Bursts at their times; returns when all are answered. */
    private List<Request> bursts(int port, int count, Duration interval) throws InterruptedException {
        OpenLoad load = RefusalsScenario.load(port, LOW_TRAFFIC);
        List<CompletableFuture<List<Request>>> bursts = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            bursts.add(RefusalsScenario.burst(load, BURST));
            Thread.sleep(interval);
        }
        return RefusalsScenario.join(bursts);
    }

    private Consumer<PromiseTable> openBreaker(int port, String name, int rate, SwallowingService service) {
        OpenLoad load = RefusalsScenario.load(port, name);
        load.send(20, Duration.ofSeconds(1)).join();
        service.hang();
        // These wait for their deadline.
        load.send(20, Duration.ofSeconds(1)).join();
        List<Request> requests = load.send(rate, options.seconds(6, 25)).join();
        long refused = RefusalsScenario.count(requests, this::isRefusedAtOnce);
        return promises -> promises.add(
                "breaker open, callers a second: " + rate + ": refused at once",
                "all",
                refused + " of " + requests.size(),
                refused == requests.size());
    }

    /** The callers give up after the round, so that none of its calls lasts into the next one. */
    private Consumer<PromiseTable> recoveryWithALongDeadline(int port) throws InterruptedException {
        Duration calm = Duration.ofSeconds(1);
        Duration hang = options.seconds(3, 5);
        Duration total = calm.plus(hang).plusSeconds(3);
        OpenLoad load = new OpenLoad(port, List.of("/" + LONG_DEADLINE + "/1"), 1000, total, 2);
        List<Double> firstAnswers = new ArrayList<>();
        for (int i = 0; i < (options.quick() ? 1 : 5); i++) {
            CompletableFuture<List<Request>> requests = load.send(100, total);
            Thread.sleep(calm);
            longDeadline.hang();
            Thread.sleep(hang.plusMillis(ThreadLocalRandom.current().nextLong(1000)));
            long heals = OpenLoad.nowMillis();
            longDeadline.heal();
            OptionalDouble first = requests.join().stream()
                    .filter(one -> one.succeeded() && one.endMillis() > heals)
                    .mapToDouble(Request::endMillis)
                    .min();
            firstAnswers.add(first.isPresent() ? first.getAsDouble() - heals : Double.POSITIVE_INFINITY);
        }
        int most = options.quick() ? 2500 : 1000;
        double latest =
                firstAnswers.stream().mapToDouble(Double::doubleValue).max().orElseThrow();
        return promises -> promises.add(
                "deadline of 20 s: first answer after the heal, longest of " + firstAnswers.size(),
                "less than " + most + " ms",
                String.format(Locale.ROOT, "%.0f ms", latest),
                latest < most);
    }

    private Consumer<PromiseTable> slowCallsAmongFastOnes(int port) throws InterruptedException {
        // More than the machine serves would wait in the gateway's sockets.
        int rate = options.quick()
                ? 200
                : Math.min(2000, 1000 * Runtime.getRuntime().availableProcessors());
        OpenLoad fast = RefusalsScenario.load(port, MIXED);
        fast.send(100, options.seconds(1, 5)).join();
        int seconds = options.quick() ? 4 : 10;
        CompletableFuture<List<Request>> sent = fast.send(rate, Duration.ofSeconds(seconds));
        OpenLoad slow = RefusalsScenario.load(port, MIXED, "slow");
        List<CompletableFuture<List<Request>>> all = new ArrayList<>(List.of(sent));
        for (int i = 0; i < seconds; i++) {
            all.add(RefusalsScenario.burst(slow, 5));
            Thread.sleep(Duration.ofSeconds(1));
        }
        List<Request> requests = RefusalsScenario.join(all);
        long lost = RefusalsScenario.count(requests, one -> !one.succeeded());
        int most = options.quick() ? requests.size() / 50 : 0;
        return promises -> promises.add(
                "five slow calls a second among fast ones, window of 10: refused",
                "at most " + most,
                lost + " of " + requests.size() + " (" + rate + "/s)",
                lost <= most);
    }

    private Consumer<PromiseTable> slowBackend(int port) throws Exception {
        Duration time = options.seconds(7, 20);
        OpenLoad load = RefusalsScenario.load(port, SLOW);
        long end = System.nanoTime() + time.toNanos();
        List<Request> requests = new ArrayList<>();
        try (ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<List<Request>>> sent = new ArrayList<>();
            for (int i = 0; i < SLOW_CALLERS; i++) {
                sent.add(callers.submit(() -> callUntil(end, load)));
            }
            for (Future<List<Request>> one : sent) {
                requests.addAll(one.get());
            }
        }
        long answered = RefusalsScenario.count(requests, Request::succeeded);
        // Of 100 and 320 that are possible.
        int least = options.quick() ? 60 : 300;
        int most = 10;
        return promises -> promises.add(
                "answers after 1.2 s, deadline of 2 s, 20 callers: answered",
                "at least " + least + ", refused " + most,
                answered + ", refused " + (requests.size() - answered),
                answered >= least && requests.size() - answered <= most);
    }

    private static List<Request> callUntil(long end, OpenLoad load) throws InterruptedException {
        List<Request> requests = new ArrayList<>();
        while (System.nanoTime() - end < 0) {
            Request request = RefusalsScenario.call(load);
            requests.add(request);
            Thread.sleep(request.succeeded() ? 0 : 10);
        }
        return requests;
    }

    private Consumer<PromiseTable> impatientCallers(int port) {
        OpenLoad load = RefusalsScenario.load(port, IMPATIENT).withHeader("X-Request-Timeout", "500ms");
        load.send(20, Duration.ofSeconds(2)).join();
        impatient.hang();
        long hangs = OpenLoad.nowMillis();
        List<Request> requests = load.send(20, options.seconds(5, 10)).join().stream()
                .filter(one -> one.atMillis() >= hangs + 2000)
                .toList();
        long refused = RefusalsScenario.count(requests, this::isRefusedAtOnce);
        return promises -> promises.add(
                "callers with 500 ms: refused at once from 2 s after a hang on",
                "all",
                refused + " of " + requests.size(),
                refused == requests.size() && refused > 0);
    }

    private boolean isRefusedAtOnce(Request request) {
        return request.outcome().equals("circuit-open") && request.micros() < waitMicros;
    }
}
