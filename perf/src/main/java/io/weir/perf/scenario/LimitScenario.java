package io.weir.perf.scenario;

import io.weir.perf.LightBackend;
import io.weir.perf.WorkerService;
import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Requests;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.run.PeerProxy;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RunningServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/**
 * Backends with a queue of their own get calm traffic, four times their capacity, or change, behind a gateway
 * without any configured limit. Beside it, the overloads are repeated with a fixed limit, with HAProxy, and
 * with Envoy's adaptive concurrency. The backends complete abandoned calls too.
 */
final class LimitScenario {

    /** The deadline of {@code config/local.yml}, and some time for the client. */
    private static final Duration IN_TIME = Duration.ofSeconds(1);

    private static final int FIXED_LIMIT = 64;
    private static final double OVERLOAD = 4;
    private static final double CALM = .75;
    /** Beyond the service time and its mean, for the queue. */
    private static final int FRESH_MILLIS = 50;

    private static final int RETRIES = 3;
    private static final int GATEWAYS = 4;

    private final Scenario.Options options;
    private final Duration calmTime;
    private final Duration overloadTime;
    private final PromiseTable promises = new PromiseTable();

    /** Starts a proxy in front of a backend with such workers. */
    private interface Front {
        OverloadedFront start(WorkerService service) throws Exception;
    }

    private record Stage(OpenLoad load, WorkerService service) {

        /** Sends for a while; the answers may come later. */
        CompletableFuture<Requests> send(double perSecond, Duration time) throws InterruptedException {
            CompletableFuture<Requests> sent = load.send((int) Math.max(1, Math.round(perSecond)), time);
            Thread.sleep(time);
            return sent;
        }

        /** Sends for a while; the answers do not matter. */
        void pass(double perSecond, Duration time) throws InterruptedException {
            CompletableFuture<Requests> unused = send(perSecond, time);
        }
    }

    private interface Play<T> {
        T on(Stage stage) throws Exception;
    }

    private record Overload(Requests before, Requests during, Requests after) {

        double p99Millis() {
            return during.successes().percentile(99);
        }

        double refusedPercent() {
            return 100 - before.successPercent();
        }

        double afterPercent() {
            return after.successPercent();
        }
    }

    LimitScenario(Scenario.Options options) {
        this.options = options;
        this.calmTime = options.seconds(3, 6);
        this.overloadTime = options.seconds(6, 15);
    }

    PromiseTable run() throws Exception {
        overload(10, 50, options.quick() ? 80 : 97);
        if (!options.quick()) {
            overload(2, 50, 75);
            overload(1, 20, 75);
            overload(4, 200, 75);
            overload(40, 20, 90);
            changes();
            calm();
            retries();
            gateways();
        }
        return promises;
    }

    private void overload(int workers, int serviceMillis, double promised) throws Exception {
        String name = workers + " x " + serviceMillis + " ms";
        double capacity = workers * 1000.0 / serviceMillis;
        Overload measured = play(this::startGateway, workers, serviceMillis, this::overload);
        promises.atLeast(
                name + ", 4 x the capacity: answered in time",
                promised,
                goodputPercent(measured.during(), capacity, overloadTime),
                "%");
        options.addLatency(
                promises,
                name + ", 4 x the capacity: p99 of the answers",
                2 * serviceMillis + FRESH_MILLIS,
                measured.p99Millis());
        promises.atMost(name + ", calm, from the start: refused", .5, measured.refusedPercent(), "%");
        promises.atLeast(name + ", after the overload: answered", 99.5, measured.afterPercent(), "%");
        if (!options.quick()) {
            Front fixed = service -> OverloadedFront.gateway(options, service, limit("" + FIXED_LIMIT));
            beside(name, "Weir, limit " + FIXED_LIMIT, fixed, workers, serviceMillis);
            if (options.compares(PeerProxy.HAPROXY)) {
                Map<String, ?> values = Map.of("QUEUE_MILLIS", 400, "LIMIT", FIXED_LIMIT);
                Front front = service -> OverloadedFront.peer(options, service, PeerProxy.HAPROXY, "limit", values);
                beside(name, "HAProxy, limit " + FIXED_LIMIT, front, workers, serviceMillis);
            }
            if (options.compares(PeerProxy.ENVOY)) {
                Front front = service -> OverloadedFront.peer(options, service, PeerProxy.ENVOY, "adaptive", Map.of());
                beside(name, "Envoy, adaptive", front, workers, serviceMillis);
            }
        }
    }

    private void beside(String name, String proxy, Front front, int workers, int serviceMillis) throws Exception {
        Overload measured = play(front, workers, serviceMillis, this::overload);
        promises.show(
                name + ": " + proxy,
                String.format(
                        Locale.ROOT,
                        "%.1f %%, p99 %.0f ms, calm refused %.1f %%, after %.1f %%",
                        goodputPercent(measured.during(), workers * 1000.0 / serviceMillis, overloadTime),
                        measured.p99Millis(),
                        measured.refusedPercent(),
                        measured.afterPercent()));
    }

    private Overload overload(Stage stage) throws Exception {
        double capacity = stage.service().capacity();
        CompletableFuture<Requests> before = stage.send(CALM * capacity, calmTime);
        CompletableFuture<Requests> during = stage.send(OVERLOAD * capacity, overloadTime);
        CompletableFuture<Requests> after = stage.send(CALM * capacity, options.seconds(4, 12));
        return new Overload(before.join(), during.join(), after.join());
    }

    private void changes() throws Exception {
        double halved = play(this::startGateway, 10, 50, stage -> {
            stage.pass(150, calmTime);
            stage.service().removeWorkers(5);
            Duration time = Duration.ofSeconds(20);
            Requests fewer = stage.send(150, time).join();
            stage.service().addWorkers(5);
            return goodputPercent(fewer, 100, time);
        });
        promises.atLeast("half of the workers for 20 s: answered in time", 97, halved, "%");

        List<Requests> slower = play(this::startGateway, 64, 50, stage -> {
            stage.pass(250, calmTime);
            stage.service().slowDown(4);
            CompletableFuture<Requests> first = stage.send(250, Duration.ofSeconds(4));
            return List.of(first.join(), stage.send(250, Duration.ofSeconds(16)).join());
        });
        double over = Requests.of(slower).successPercent();
        promises.atLeast("four times as slow: answered, over 20 s", 90, over, "%");
        promises.atLeast(
                "four times as slow: answered, from 4 s on",
                98,
                slower.getLast().successPercent(),
                "%");

        double healed = play(this::startGateway, 10, 50, stage -> {
            stage.pass(150, calmTime);
            stage.service().hang();
            stage.pass(150, Duration.ofSeconds(15));
            stage.service().heal();
            return stage.send(150, Duration.ofSeconds(10)).join().successPercent();
        });
        promises.atLeast("hang of 15 s: answered in the 10 s after it", 98.5, healed, "%");
    }

    private void calm() throws Exception {
        Requests few = play(
                this::startGateway,
                4,
                50,
                stage -> stage.send(2, Duration.ofSeconds(20)).join());
        promises.atMost("2 calls a second: refused", 0, 100 - few.successPercent(), "%");
        Requests bursts = play(this::startGateway, 10, 50, stage -> {
            List<CompletableFuture<Requests>> sent = IntStream.range(0, 10)
                    .mapToObj(i -> stage.load().send(5, Duration.ofSeconds(15)))
                    .toList();
            return OpenLoad.join(sent);
        });
        promises.atMost("bursts of 10, 50 calls a second: refused", 0, 100 - bursts.successPercent(), "%");
        promises.atMost("from 50/s to 1000/s in a second, 50 ms: refused", 0, ramp(64, 50), "%");
        promises.atMost("from 50/s to 1000/s in a second, 200 ms: refused", 5, ramp(300, 200), "%");
    }

    private double ramp(int workers, int serviceMillis) throws Exception {
        return play(this::startGateway, workers, serviceMillis, stage -> {
            stage.pass(50, calmTime);
            List<CompletableFuture<Requests>> steps = new ArrayList<>();
            for (int i = 1; i <= 10; i++) {
                steps.add(stage.send(50 + 95.0 * i, Duration.ofMillis(100)));
            }
            steps.add(stage.send(1000, Duration.ofSeconds(5)));
            return 100 - OpenLoad.join(steps).successPercent();
        });
    }

    /** Callers who are refused try again at once. */
    private void retries() throws Exception {
        Overload measured = play(
                this::startGateway,
                10,
                50,
                stage -> overload(new Stage(stage.load().withRetries(RETRIES), stage.service())));
        promises.atLeast(
                "callers retry 3 times, 4 x: answered in time",
                90,
                goodputPercent(measured.during(), 200, overloadTime),
                "%");
        promises.atLeast("callers retry 3 times, after it: answered", 99.5, measured.afterPercent(), "%");
    }

    /** Several gateways share a backend; each one finds a limit for itself. */
    private void gateways() throws Exception {
        WorkerService service = new WorkerService(10, Duration.ofMillis(50));
        List<Requests> answers = new ArrayList<>();
        Duration time = Duration.ofSeconds(30);
        try (LightBackend backend = LightBackend.answeringOk(service);
                Processes processes = Processes.unlimited()) {
            List<OpenLoad> loads = new ArrayList<>();
            for (int i = 0; i < GATEWAYS; i++) {
                RunningServer gateway = OverloadedFront.startGateway(options, processes, backend.port(), limit("auto"));
                loads.add(Scenario.load(gateway.port(), "/mvc/1"));
            }
            join(loads, CALM * service.capacity(), calmTime);
            answers.addAll(join(loads, OVERLOAD * service.capacity(), time));
        }
        double total = answers.stream()
                .mapToDouble(each -> goodputPercent(each, service.capacity(), time))
                .sum();
        promises.atLeast("four gateways, 4 x: answered in time", 95, total, "%");
        DoubleSummaryStatistics each = answers.stream()
                .mapToDouble(one -> goodputPercent(one, 1, time))
                .summaryStatistics();
        promises.atMost(
                "four gateways, 4 x: the most answered, of the least", 2, each.getMax() / each.getMin(), "times");
    }

    private static List<Requests> join(List<OpenLoad> loads, double perSecond, Duration time) {
        return loads.stream().map(load -> load.send((int) (perSecond / loads.size()), time)).toList().stream()
                .map(CompletableFuture::join)
                .toList();
    }

    private static double goodputPercent(Requests requests, double capacity, Duration time) {
        return 100 * requests.servedWithin(IN_TIME) / (capacity * time.toSeconds());
    }

    private static <T> T play(Front front, int workers, int serviceMillis, Play<T> play) throws Exception {
        WorkerService service = new WorkerService(workers, Duration.ofMillis(serviceMillis));
        try (OverloadedFront started = front.start(service)) {
            return play.on(new Stage(Scenario.load(started.port(), "/mvc/1"), service));
        }
    }

    private OverloadedFront startGateway(WorkerService service) throws Exception {
        return OverloadedFront.gateway(options, service, limit("auto"));
    }

    /** The property of a limit, unless {@code --without adaptive-limit} sets one. */
    private List<String> limit(String usual) {
        List<String> without = options.disable("mvc", "adaptive-limit");
        return without.isEmpty() ? List.of(OverloadedFront.limit(usual)) : without;
    }
}
