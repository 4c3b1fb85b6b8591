package io.weir.perf.scenario;

import io.weir.perf.LightBackend;
import io.weir.perf.result.Latencies;
import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Request;
import io.weir.perf.run.Host;
import io.weir.perf.run.HttpControl;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RunningServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * A backend with a capacity of 200 requests per second gets four times as many. It completes all requests,
 * also those whose callers have left. During the overload it must reach its capacity, and after it all
 * callers must be served.
 */
final class OverloadScenario {

    private static final int WORKERS = 10;
    private static final Duration SERVICE_TIME = Duration.ofMillis(50);
    private static final double CAPACITY = 200;
    private static final int RATE = 150;
    private static final int OVERLOAD_RATE = 800;
    private static final long IN_TIME_MICROS = 1_000_000;

    private final Scenario.Options options;

    OverloadScenario(Scenario.Options options) {
        this.options = options;
    }

    PromiseTable run() throws Exception {
        boolean quick = options.quick();
        List<String> properties =
                new ArrayList<>(List.of("--weir.backends.mvc.bulkhead.max-concurrent-calls=" + WORKERS));
        properties.addAll(options.disable("mvc"));
        try (LightBackend backend = new LightBackend(LightBackend.workers(WORKERS, SERVICE_TIME));
                Processes processes = Processes.unlimited()) {
            RunningServer gateway = options.startGateway(processes, backend.port(), backend.port(), properties);
            // A breaker would count the first, slow calls of a cold JVM.
            Scenario.load(backend.port(), "/").send(RATE, options.seconds(2, 5)).join();
            boolean compared = !quick && Host.has("haproxy");
            int haProxyPort = compared ? startHaProxy(processes, backend.port()) : 0;
            List<OpenLoad> loads = (compared ? List.of(gateway.port(), haProxyPort) : List.of(gateway.port()))
                    .stream().map(port -> Scenario.load(port, "/mvc/1")).toList();
            loads.forEach(this::warmUp);
            List<List<Answers>> answers = List.of(new ArrayList<>(), new ArrayList<>());
            for (int round = 0; round < (quick ? 1 : 5); round++) {
                for (int i = 0; i < loads.size(); i++) {
                    System.out.printf(Locale.ROOT, "overload %d%s%n", round + 1, i == 0 ? "" : " of HAProxy");
                    answers.get(i).add(overload(loads.get(i)));
                }
            }
            PromiseTable promises = new PromiseTable();
            double promised = quick ? 60 : 98.5;
            if (compared) {
                double haProxy = median(answers.get(1));
                promised = Math.max(promised, haProxy - 0.5);
                promises.add("(HAProxy with the same limits, beside it)", "", percents(haProxy, answers.get(1)), true);
            }
            double median = median(answers.get(0));
            promises.add(
                    "overload: answered 200 within 1 s, of the backend's capacity",
                    String.format(Locale.ROOT, "at least %.1f %%", promised),
                    percents(median, answers.get(0)),
                    median >= promised);
            promises.atLeast(
                    "after it: answered 200",
                    quick ? 85 : 99.5,
                    Request.successPercent(answers.get(0).stream()
                            .flatMap(one -> one.after().stream())
                            .toList()));
            double open = gateway.findMetric("weir_requests_seconds_count", "outcome=\"circuit-open\"")
                            .orElse(0)
                    + gateway.findMetric("weir_breaker_state", "backend=\"mvc\"", "state=\"open\"")
                            .orElse(0);
            promises.add("a full bulkhead opens no breaker", "0 refused", String.valueOf((long) open), open == 0);
            return promises;
        }
    }

    /** Starts HAProxy with the limits of the gateway: concurrent calls, wait for a permit, deadline. */
    private static int startHaProxy(Processes processes, int backendPort) throws Exception {
        int port = Host.freePort();
        String configuration = """
                defaults
                    mode http
                    timeout connect 500ms
                    timeout client 30s
                    timeout queue 100ms
                    timeout server 800ms
                listen overload
                    bind 127.0.0.1:%d
                    server backend 127.0.0.1:%d maxconn %d
                """.formatted(port, backendPort, WORKERS);
        Path file = Files.writeString(processes.directory().resolve("haproxy.cfg"), configuration);
        processes.start("haproxy", List.of("haproxy", "-db", "-q", "-f", file.toString()), Map.of());
        processes.await("HAProxy answers", () -> HttpControl.answers("http://127.0.0.1:" + port + "/"));
        return port;
    }

    /** The requests during the overload and after it. */
    private record Answers(List<Request> overload, List<Request> after) {}

    private void warmUp(OpenLoad load) {
        load.send(RATE, options.seconds(1, 6)).join();
        load.send(OVERLOAD_RATE, options.seconds(1, 6)).join();
        load.send(RATE, Duration.ofSeconds(3)).join();
    }

    private Answers overload(OpenLoad load) {
        List<Request> overload = load.send(OVERLOAD_RATE, overloadTime()).join();
        // Starts at once: the queue of the overload delays these requests.
        return new Answers(overload, load.send(RATE, options.seconds(4, 5)).join());
    }

    private Duration overloadTime() {
        return options.seconds(5, 15);
    }

    private double median(List<Answers> rounds) {
        return Latencies.median(percents(rounds));
    }

    private String percents(double median, List<Answers> rounds) {
        List<String> each = percents(rounds).stream()
                .map(percent -> String.format(Locale.ROOT, "%.2f", percent))
                .toList();
        return String.format(Locale.ROOT, "%.2f %% %s", median, each);
    }

    /** Answers in time, in percent of the backend's capacity. */
    private List<Double> percents(List<Answers> rounds) {
        return rounds.stream()
                .map(round -> 100
                        * round.overload().stream()
                                .filter(one -> one.succeeded() && one.micros() <= IN_TIME_MICROS)
                                .count()
                        / (CAPACITY * overloadTime().toSeconds()))
                .toList();
    }
}
