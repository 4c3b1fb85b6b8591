package io.weir.perf.scenario;

import io.weir.perf.WorkerService;
import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.scenario.RefusalsScenario.Callers;
import io.weir.perf.scenario.RefusalsScenario.Case;
import io.weir.perf.scenario.RefusalsScenario.CaseRoute;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServerRequest;

/** The breaker opens for a backend that hangs, not for a slow one. It closes soon after the backend heals. */
final class BreakerCases {

    static final String LOW_TRAFFIC = "low-traffic";
    private static final String LONG_DEADLINE = "long-deadline";

    private static final Duration SERVICE_TIME = Duration.ofMillis(10);
    private static final int BURST = 6;
    private static final long DEADLINE_MICROS = 2_000_000;
    private static final int SLOW_CALLERS = 20;

    private final Scenario.Options options;
    /** A refusal takes far less; a call that stalls takes at least a second. */
    private final long waitMicros;

    private final WorkerService lowTraffic = WorkerService.unlimited(SERVICE_TIME);
    private final WorkerService longDeadline = WorkerService.unlimited(SERVICE_TIME);
    private final WorkerService impatient = WorkerService.unlimited(SERVICE_TIME);

    BreakerCases(Scenario.Options options) {
        this.options = options;
        this.waitMicros = options.quick() ? 900_000 : 250_000;
    }

    /** A slow backend whose limit is not configured. */
    Case untuned() {
        return new Case("slow-untuned", "slow-call-tolerance", BreakerCases::answerSlowly, this::slowBackend);
    }

    List<Case> light() {
        List<Case> cases = new ArrayList<>(List.of(
                new Case(LOW_TRAFFIC, "probes", lowTraffic, this::burstsAtLowTraffic),
                new Case(LONG_DEADLINE, "probes", longDeadline, this::recoveryWithALongDeadline),
                new Case("slow", "slow-call-tolerance", BreakerCases::answerSlowly, this::slowBackend),
                new Case("impatient", "circuit-breaker", impatient, this::impatientCallers)));
        for (int rate : List.of(1, 6, 20)) {
            WorkerService open = WorkerService.unlimited(SERVICE_TIME);
            Callers callers = (route, promises) -> openBreaker(route.load(), rate, open, promises);
            cases.add(new Case("open-" + rate, "circuit-breaker", open, callers));
        }
        return cases;
    }

    Case heavy() {
        Function<HttpServerRequest, Mono<Void>> service =
                request -> Mono.delay(Duration.ofMillis(request.uri().endsWith("slow") ? 1500 : 3))
                        .then();
        return new Case("mixed", "slow-call-tolerance", service, this::slowCallsAmongFastOnes);
    }

    private static Mono<Void> answerSlowly(HttpServerRequest request) {
        return Mono.delay(Duration.ofMillis(1200)).then();
    }

    private void burstsAtLowTraffic(CaseRoute route, PromiseTable promises) throws InterruptedException {
        Duration interval = Duration.ofMillis(options.quick() ? 1500 : 6000);
        OpenLoad load = route.load();
        learnUsualTime(load);
        bursts(load, 1, interval);
        lowTraffic.hang();
        Requests during = bursts(load, 2, interval);
        Thread.sleep(ThreadLocalRandom.current().nextLong(interval.toMillis()));
        lowTraffic.heal();
        Requests after = bursts(load, options.quick() ? 3 : 6, interval);
        long waited = during.count(one -> one.micros() >= DEADLINE_MICROS);
        long refused = during.size() - waited;
        promises.add(
                "bursts of six: wait out the deadline, of two bursts during a hang",
                "at most " + BURST + ", others refused",
                waited + " waited, " + refused + " refused",
                waited <= BURST && during.count(this::isRefusedAtOnce) == refused);
        int lost = after.failures().size();
        promises.add(
                "bursts of six: not answered after the heal",
                "at most the first burst",
                lost + " of " + after.size(),
                lost <= BURST && after.size() > BURST);
    }

    /** Sends bursts, each an interval after the one before and once that one is answered. */
    private static Requests bursts(OpenLoad load, int count, Duration interval) throws InterruptedException {
        List<Requests> bursts = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            CompletableFuture<Requests> burst = load.burst(BURST);
            Thread.sleep(interval);
            bursts.add(burst.join());
        }
        return Requests.of(bursts);
    }

    private void openBreaker(OpenLoad load, int rate, WorkerService service, PromiseTable promises) {
        learnUsualTime(load);
        service.hang();
        // These wait for their deadline.
        load.run(20, Duration.ofSeconds(1));
        Requests requests = load.run(rate, options.seconds(6, 25));
        promises.all(
                "breaker open, callers a second: " + rate + ": refused at once",
                requests.count(this::isRefusedAtOnce),
                requests.size());
    }

    /** The callers give up after the round, so that none of its calls lasts into the next one. */
    private void recoveryWithALongDeadline(CaseRoute route, PromiseTable promises) throws InterruptedException {
        // Calls of a busy start are slow, and the hang must be longer than three times the usual time.
        Duration calm = Duration.ofSeconds(4);
        Duration hang = Duration.ofSeconds(5);
        Duration total = calm.plus(hang).plusSeconds(3);
        OpenLoad load = new OpenLoad(route.port(), List.of("/" + LONG_DEADLINE + "/1"), 1000, total, 2);
        int rounds = options.quick() ? 1 : 5;
        double latest = 0;
        for (int i = 0; i < rounds; i++) {
            CompletableFuture<Requests> requests = load.send(100, total);
            Thread.sleep(calm);
            longDeadline.hang();
            Thread.sleep(hang.plusMillis(ThreadLocalRandom.current().nextLong(1000)));
            long heals = OpenLoad.nowMillis();
            longDeadline.heal();
            latest = Math.max(latest, requests.join().firstSuccessAfter(heals) - heals);
        }
        promises.atMost(
                "deadline of 20 s: first answer after the heal, longest of " + rounds,
                options.quick() ? 2500 : 1000,
                latest,
                "ms");
    }

    private void slowCallsAmongFastOnes(CaseRoute route, PromiseTable promises) throws InterruptedException {
        // More than the machine serves would wait in the gateway's sockets.
        int rate = options.quick()
                ? 200
                : Math.min(2000, 1000 * Runtime.getRuntime().availableProcessors());
        OpenLoad fast = route.load();
        OpenLoad slow = route.load("slow");
        fast.run(100, options.seconds(1, 5));
        int seconds = options.quick() ? 4 : 10;
        List<CompletableFuture<Requests>> sent = new ArrayList<>();
        sent.add(fast.send(rate, Duration.ofSeconds(seconds)));
        for (int i = 0; i < seconds; i++) {
            sent.add(slow.burst(5));
            Thread.sleep(Duration.ofSeconds(1));
        }
        Requests requests = OpenLoad.join(sent);
        int lost = requests.failures().size();
        int most = options.quick() ? requests.size() / 50 : 0;
        promises.add(
                "five slow calls a second among fast ones, window of 10: refused",
                "at most " + most,
                lost + " of " + requests.size() + " (" + rate + "/s)",
                lost <= most);
    }

    private void slowBackend(CaseRoute route, PromiseTable promises) throws Exception {
        long end = System.nanoTime() + options.seconds(7, 20).toNanos();
        OpenLoad load = route.load();
        List<Request> sent = new ArrayList<>();
        try (ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
            Callable<List<Request>> caller = () -> callUntil(end, load);
            for (Future<List<Request>> ended : callers.invokeAll(Collections.nCopies(SLOW_CALLERS, caller))) {
                sent.addAll(ended.get());
            }
        }
        Requests requests = new Requests(sent);
        int answered = requests.successes().size();
        int refused = requests.failures().size();
        // Of 100 and 320 that are possible.
        int least = options.quick() ? 60 : 300;
        int most = 10;
        promises.add(
                "answers after 1.2 s, deadline of 2 s, 20 callers (" + route.name() + "): answered",
                "at least " + least + ", refused " + most,
                answered + ", refused " + requests.failures().countByOutcome(),
                answered >= least && refused <= most);
    }

    private static List<Request> callUntil(long end, OpenLoad load) throws InterruptedException {
        List<Request> requests = new ArrayList<>();
        while (System.nanoTime() - end < 0) {
            Request request = load.burst(1).join().all().getFirst();
            requests.add(request);
            Thread.sleep(request.succeeded() ? 0 : 10);
        }
        return requests;
    }

    private void impatientCallers(CaseRoute route, PromiseTable promises) {
        OpenLoad load = route.load().withHeader("X-Request-Timeout", "500ms");
        learnUsualTime(load);
        impatient.hang();
        long hangs = OpenLoad.nowMillis();
        Requests requests = load.run(20, options.seconds(5, 10)).where(one -> one.atMillis() >= hangs + 2000);
        promises.all(
                "callers with 500 ms: refused at once from 2 s after a hang on",
                requests.count(this::isRefusedAtOnce),
                requests.size());
    }

    /** Sends calls until most are far from the times of a hang, which they may not be at a busy start. */
    private static void learnUsualTime(OpenLoad load) {
        List<Requests> sent = new ArrayList<>();
        do {
            sent.add(load.run(20, Duration.ofSeconds(2)));
        } while (Requests.of(sent).percentile(60) > 100 && sent.size() < 10);
    }

    private boolean isRefusedAtOnce(Request request) {
        return request.outcome().equals("circuit-open") && request.micros() < waitMicros;
    }
}
