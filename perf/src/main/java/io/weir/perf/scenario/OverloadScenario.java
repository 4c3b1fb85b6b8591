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
import java.util.List;
import java.util.Map;

/**
 * A backend with a capacity of 200 requests per second gets four times as many. It completes all requests,
 * also those whose callers have left. During the overload it must reach its capacity, and after it all
 * callers must be served.
 */
record OverloadScenario(Scenario.Options options) {

    private static final int WORKERS = 10;
    private static final Duration SERVICE_TIME = Duration.ofMillis(50);
    private static final double CAPACITY = 200;
    private static final int RATE = 150;
    private static final int OVERLOAD_RATE = 800;
    private static final Duration IN_TIME = Duration.ofSeconds(1);

    PromiseTable run() throws Exception {
        // Time alone bounds the queue, as in HAProxy.
        List<String> properties = new ArrayList<>(options.properties(
                "--weir.backends.mvc.bulkhead.max-concurrent-calls=" + WORKERS,
                "--weir.backends.mvc.bulkhead.queue-capacity=" + OVERLOAD_RATE));
        properties.addAll(options.calm());
        try (LightBackend backend = LightBackend.answeringOk(new WorkerService(WORKERS, SERVICE_TIME));
                Processes processes = Processes.unlimited()) {
            RunningServer gateway = options.startGateway(processes, backend.port(), backend.port(), properties);
            // A breaker would count the first, slow calls of a cold JVM.
            Scenario.load(backend.port(), "/").run(RATE, options.seconds(2, 5));
            List<MeasuredProxy> proxies = new ArrayList<>(List.of(new MeasuredProxy(gateway.port())));
            if (options.compares(PeerProxy.HAPROXY)) {
                // With the limits of the gateway.
                Map<String, ?> values = Map.of("BACKEND_PORT", backend.port(), "QUEUE_MILLIS", 100, "LIMIT", WORKERS);
                proxies.add(new MeasuredProxy(
                        options.startPeer(processes, PeerProxy.HAPROXY, "haproxy-limit.cfg", values)));
            }
            for (MeasuredProxy proxy : proxies) {
                proxy.load.run(RATE, options.seconds(1, 6));
                // The gateway compiles for half a minute: each round would answer more than the one before.
                proxy.load.run(OVERLOAD_RATE, options.seconds(1, 30));
                proxy.load.run(RATE, Duration.ofSeconds(3));
            }
            for (int round = 1; round <= (options.quick() ? 1 : 5); round++) {
                System.out.println("overload " + round);
                proxies.forEach(this::overload);
            }
            PromiseTable promises = new PromiseTable();
            addPromises(promises, proxies.getFirst(), proxies.subList(1, proxies.size()));
            long open = gateway.count("weir_requests_seconds_count", "outcome=\"circuit-open\"")
                    + gateway.count("weir_breaker_state", "backend=\"mvc\"", "state=\"open\"");
            promises.add("a full bulkhead opens no breaker", "0 refused", String.valueOf(open), open == 0);
            return promises;
        }
    }

    private void addPromises(PromiseTable promises, MeasuredProxy weir, List<MeasuredProxy> others) {
        double promised = options.quick() ? 60 : 98.5;
        for (MeasuredProxy haProxy : others) {
            promised = Math.max(promised, haProxy.median() - 0.5);
            promises.show("HAProxy with the same limits, beside it", haProxy.percents());
        }
        promises.add(
                "overload: answered 200 within 1 s, of the backend's capacity",
                "at least " + PromiseTable.number(promised, "%"),
                weir.percents(),
                weir.median() >= promised);
        double after = Requests.of(weir.after).successPercent();
        promises.atLeast("after it: answered 200", options.quick() ? 85 : 99.5, after, "%");
    }

    private void overload(MeasuredProxy proxy) {
        Duration time = options.seconds(5, 15);
        Requests overload = proxy.load.run(OVERLOAD_RATE, time);
        // Starts at once: the queue of the overload delays these requests.
        proxy.after.add(proxy.load.run(RATE, options.seconds(4, 5)));
        proxy.capacityPercents.add(100 * overload.servedWithin(IN_TIME) / (CAPACITY * time.toSeconds()));
    }

    /** The answers of a proxy: those in time, in percent of the backend's capacity, and those afterwards. */
    private static final class MeasuredProxy {

        private final OpenLoad load;
        private final List<Double> capacityPercents = new ArrayList<>();
        private final List<Requests> after = new ArrayList<>();

        MeasuredProxy(int port) {
            this.load = Scenario.load(port, "/mvc/1");
        }

        double median() {
            return Requests.median(capacityPercents);
        }

        String percents() {
            List<String> each = capacityPercents.stream()
                    .map(percent -> PromiseTable.number(percent, ""))
                    .toList();
            return PromiseTable.number(median(), "%") + ' ' + each;
        }
    }
}
