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
import java.util.Collections;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Backends with a queue of their own get calm traffic, four times their capacity, or change, behind a gateway
 * without any configured limit. Beside it, a gateway with a fixed limit, HAProxy, and Envoy's adaptive
 * concurrency get the same. The backends complete abandoned calls too.
 */
final class LimitScenario {

    /** Labels of the gateway, without a limit and with a fixed one. */
    static final String WEIR = "weir";

    static final String FIXED = "weir-fixed";

    /** The deadline of {@code config/local.yml}, and some time for the client. */
    private static final Duration IN_TIME = Duration.ofSeconds(1);

    private static final int FIXED_LIMIT = 64;
    private static final double OVERLOAD = 4;
    private static final double CALM = .75;
    /** Beyond the service time and its mean, for the queue. */
    private static final int FRESH_MILLIS = 50;

    private static final int RETRIES = 3;
    private static final int GATEWAYS = 4;
    private static final int HANGS = 5;

    private final Scenario.Options options;
    private final Duration calmTime;
    private final Duration overloadTime;
    private final PromiseTable promises = new PromiseTable();

    /** Starts a proxy in front of a backend with such workers. */
    private interface Start {
        OverloadedFront of(WorkerService service) throws Exception;
    }

    private record Front(String label, Start start) {}

    private record Stage(OpenLoad load, OverloadedFront front, int rounds) {

        WorkerService service() {
            return front.service();
        }

        /** The limit in force; NaN of another proxy. */
        double limit() {
            return front.anyGateway()
                    .map(gateway -> gateway.metric("weir_limit", "backend=\"mvc\""))
                    .orElse(Double.NaN);
        }

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

    /** A figure of a case; {@code promised} is the gateway's bound, from below if {@code least}. */
    private record Figure(String text, boolean least, double promised, double measured, String unit) {

        static Figure least(String text, double promised, double measured) {
            return new Figure(text, true, promised, measured, "%");
        }

        static Figure most(String text, double promised, double measured, String unit) {
            return new Figure(text, false, promised, measured, unit);
        }
    }

    private interface Case {
        List<Figure> on(Stage stage) throws Exception;
    }

    LimitScenario(Scenario.Options options) {
        this.options = options;
        this.calmTime = options.seconds(3, 6);
        this.overloadTime = options.seconds(6, 15);
    }

    PromiseTable run() throws Exception {
        boolean quick = options.quick();
        overload(10, 50, quick ? 80 : 97);
        measure("half of the workers", 10, 50, this::halved);
        measure("from 50/s to 1000/s in a second, 50 ms", 64, 50, stage -> ramp(stage, quick ? 2 : 0));
        measure("callers retry 3 times", 10, 50, this::retries);
        if (!quick) {
            overload(2, 50, 75);
            overload(1, 20, 75);
            overload(4, 200, 75);
            overload(40, 20, 90);
            measure("four times as slow", 64, 50, this::slower);
            measure("hang of 15 s", 10, 50, this::hang);
            measure(
                    "2 calls a second",
                    4,
                    50,
                    stage -> refused(0, stage.send(2, Duration.ofSeconds(20)).join()));
            measure("bursts of 10, 50 calls a second", 10, 50, stage -> refused(0, bursts(stage)));
            measure("from 50/s to 1000/s in a second, 200 ms", 300, 200, stage -> ramp(stage, 5));
            gateways();
        }
        return promises;
    }

    /** Plays a case on the gateway, whose figures are promises, and on the other fronts. */
    private void measure(String name, int workers, int serviceMillis, Case played) throws Exception {
        for (Front front : fronts()) {
            options.begin(Scenario.WARM_UP);
            WorkerService service = new WorkerService(workers, Duration.ofMillis(serviceMillis));
            try (OverloadedFront started = front.start().of(service)) {
                options.begin(front.label() + ": " + name);
                int rounds = front.label().equals(WEIR) ? HANGS : 1;
                add(
                        front.label(),
                        name,
                        played.on(new Stage(Scenario.load(started.port(), "/mvc/1"), started, rounds)));
            }
        }
    }

    private void add(String front, String name, List<Figure> figures) {
        for (Figure one : figures) {
            String text = name + ", " + one.text();
            promises.fact(
                    front
                            + '.'
                            + text.toLowerCase(Locale.ROOT)
                                    .replaceAll("[^a-z0-9]+", "-")
                                    .replaceAll("-$", ""),
                    one.measured(),
                    one.unit());
            if (!front.equals(WEIR)) {
                continue;
            }
            if (one.unit().equals("ms")) {
                options.addLatency(promises, text, one.promised(), one.measured());
            } else if (one.least()) {
                promises.atLeast(text, one.promised(), one.measured(), one.unit());
            } else {
                promises.atMost(text, one.promised(), one.measured(), one.unit());
            }
        }
        if (!front.equals(WEIR)) {
            promises.show(
                    name + ": " + front,
                    figures.stream()
                            .filter(one -> Double.isFinite(one.measured()))
                            .map(one -> PromiseTable.number(one.measured(), one.unit()))
                            .collect(Collectors.joining("; ")));
        }
    }

    private List<Front> fronts() {
        List<Front> fronts = new ArrayList<>();
        fronts.add(new Front(WEIR, service -> OverloadedFront.gateway(options, service, limit("auto"))));
        if (!options.quick()) {
            fronts.add(new Front(FIXED, service -> OverloadedFront.gateway(options, service, limit("" + FIXED_LIMIT))));
        }
        if (options.compares(PeerProxy.HAPROXY)) {
            Map<String, ?> values = Map.of("QUEUE_MILLIS", 400, "LIMIT", FIXED_LIMIT);
            fronts.add(peer(PeerProxy.HAPROXY, "limit", values));
        }
        if (options.compares(PeerProxy.ENVOY)) {
            fronts.add(peer(PeerProxy.ENVOY, "adaptive", Map.of()));
        }
        return fronts;
    }

    private Front peer(PeerProxy peer, String template, Map<String, ?> values) {
        return new Front(peer.label(), service -> OverloadedFront.peer(options, service, peer, template, values));
    }

    // ---------------------------------------------------------------- cases

    private void overload(int workers, int serviceMillis, double promised) throws Exception {
        measure(workers + " x " + serviceMillis + " ms", workers, serviceMillis, stage -> {
            List<Requests> parts = overload(stage);
            return List.of(
                    Figure.least("4 x the capacity: answered in time", promised, goodputPercent(parts.get(1), stage)),
                    Figure.most(
                            "4 x the capacity: p99 of the answers",
                            2 * serviceMillis + FRESH_MILLIS,
                            parts.get(1).successes().percentile(99),
                            "ms"),
                    Figure.most("calm, from the start: refused", .5, refusedPercent(parts.getFirst()), "%"),
                    Figure.least(
                            "after the overload: answered",
                            99.5,
                            parts.getLast().successPercent()));
        });
    }

    /** The answers before, in and after an overload. */
    private List<Requests> overload(Stage stage) throws InterruptedException {
        double capacity = stage.service().capacity();
        List<CompletableFuture<Requests>> parts = new ArrayList<>();
        parts.add(stage.send(CALM * capacity, calmTime));
        parts.add(stage.send(OVERLOAD * capacity, overloadTime));
        parts.add(stage.send(CALM * capacity, options.seconds(4, 12)));
        return parts.stream().map(CompletableFuture::join).toList();
    }

    /** Callers who are refused try again at once. */
    private List<Figure> retries(Stage stage) throws InterruptedException {
        Stage retried = new Stage(stage.load().withRetries(RETRIES), stage.front(), 1);
        List<Requests> parts = overload(retried);
        return List.of(
                Figure.least("4 x: answered in time", options.quick() ? 75 : 90, goodputPercent(parts.get(1), stage)),
                Figure.least("after it: answered", 99.5, parts.getLast().successPercent()));
    }

    private List<Figure> halved(Stage stage) throws InterruptedException {
        stage.pass(150, calmTime);
        stage.service().removeWorkers(5);
        Duration time = options.seconds(8, 20);
        Requests fewer = stage.send(150, time).join();
        stage.service().addWorkers(5);
        return List.of(Figure.least("answered in time", options.quick() ? 80 : 97, goodputPercent(fewer, 100, time)));
    }

    private List<Figure> slower(Stage stage) throws InterruptedException {
        stage.pass(250, calmTime);
        stage.service().slowDown(4);
        CompletableFuture<Requests> first = stage.send(250, Duration.ofSeconds(4));
        Requests later = stage.send(250, Duration.ofSeconds(16)).join();
        return List.of(
                Figure.least(
                        "answered, over 20 s",
                        90,
                        Requests.of(List.of(first.join(), later)).successPercent()),
                Figure.least("answered, from 4 s on", 98, later.successPercent()));
    }

    private List<Figure> hang(Stage stage) throws InterruptedException {
        List<Double> growth = new ArrayList<>();
        List<Double> healed = new ArrayList<>();
        for (int round = 0; round < stage.rounds(); round++) {
            stage.pass(150, calmTime);
            double before = stage.limit();
            stage.service().hang();
            stage.pass(150, Duration.ofSeconds(15));
            growth.add(stage.limit() / before);
            stage.service().heal();
            healed.add(stage.send(150, Duration.ofSeconds(10)).join().successPercent());
        }
        return List.of(
                Figure.least("answered in the 10 s after it (median)", 98.5, Requests.median(healed)),
                Figure.most("limit after it, of that before (highest)", 1, Collections.max(growth), "times"));
    }

    private static Requests bursts(Stage stage) {
        return OpenLoad.join(IntStream.range(0, 10)
                .mapToObj(i -> stage.load().send(5, Duration.ofSeconds(15)))
                .toList());
    }

    private List<Figure> ramp(Stage stage, double promised) throws InterruptedException {
        stage.pass(50, calmTime);
        List<CompletableFuture<Requests>> steps = new ArrayList<>();
        for (int i = 1; i <= 10; i++) {
            steps.add(stage.send(50 + 95.0 * i, Duration.ofMillis(100)));
        }
        steps.add(stage.send(1000, options.seconds(2, 5)));
        return refused(promised, OpenLoad.join(steps));
    }

    private static List<Figure> refused(double promised, Requests requests) {
        return List.of(Figure.most("refused", promised, refusedPercent(requests), "%"));
    }

    /** Several gateways share a backend; each one finds a limit for itself. */
    private void gateways() throws Exception {
        WorkerService service = new WorkerService(10, Duration.ofMillis(50));
        List<Requests> answers = new ArrayList<>();
        Duration time = Duration.ofSeconds(30);
        options.begin(Scenario.WARM_UP);
        try (LightBackend backend = LightBackend.answeringOk(service);
                Processes processes = Processes.unlimited()) {
            List<OpenLoad> loads = new ArrayList<>();
            for (int i = 0; i < GATEWAYS; i++) {
                RunningServer gateway = OverloadedFront.startGateway(options, processes, backend.port(), limit("auto"));
                loads.add(Scenario.load(gateway.port(), "/mvc/1"));
            }
            options.begin(WEIR + ": four gateways");
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

    private double goodputPercent(Requests requests, Stage stage) {
        return goodputPercent(requests, stage.service().capacity(), overloadTime);
    }

    private static double refusedPercent(Requests requests) {
        return 100 - requests.successPercent();
    }

    /** The property of a limit, unless a disabled protection sets one, and those of disabled protections. */
    private List<String> limit(String usual) {
        List<String> without = options.disable("mvc");
        boolean set = without.stream().anyMatch(property -> property.startsWith(OverloadedFront.limit("")));
        return set ? without : options.properties(OverloadedFront.limit(usual));
    }
}
