package io.weir.perf.scenario;

import io.weir.perf.LightBackend;
import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Requests;
import io.weir.perf.run.Host;
import io.weir.perf.run.ManagedProcess;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.Wrk;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import reactor.core.publisher.Mono;

/**
 * A gateway of which more than half of the heap is live serves as fast as the machine can, with each
 * collector: garbage is no overload. Then the live set grows until the heap is nearly full: the gateway must
 * refuse requests, and no allocation may fail.
 */
record MemoryScenario(Scenario.Options options) {

    private static final int CONNECTIONS = 32;
    private static final int HEAP_MEGABYTES = 256;
    private static final int HALF = 52;
    private static final int NEARLY_ALL = 92;
    private static final int GROWING_RATE = 500;

    PromiseTable run() throws Exception {
        Host.require("wrk", "wrk");
        PromiseTable promises = new PromiseTable();
        try (LightBackend backend = LightBackend.answeringOk(request -> Mono.empty())) {
            for (String collector : options.quick() ? List.of("Parallel") : List.of("Serial", "Parallel", "G1", "Z")) {
                System.out.println(collector);
                measure(collector, backend, promises);
            }
        }
        return promises;
    }

    private void measure(String collector, LightBackend backend, PromiseTable promises) throws Exception {
        try (Processes processes = Processes.unlimited()) {
            Path wanted = processes.directory().resolve("live");
            List<String> jvm = List.of(
                    "-Xmx" + HEAP_MEGABYTES + "m",
                    "-XX:+Use" + collector + "GC",
                    Ballast.option(processes.directory(), wanted));
            List<String> properties = options.properties(
                    "--weir.backends.mvc.bulkhead.max-concurrent-calls=64", "--weir.access-log.enabled=false");
            RunningServer gateway = options.startGateway(processes, jvm, backend.port(), backend.port(), properties);
            ManagedProcess process = gateway.process().orElseThrow();
            Files.writeString(wanted, Integer.toString(HALF));
            processes.await("half of the heap is live", () -> process.output().contains(Ballast.reached(HALF)));
            load(processes, gateway, options.seconds(3, 8));
            long refusedBefore = refused(gateway);
            Wrk steady = load(processes, gateway, options.seconds(6, 15));
            long refused = refused(gateway) - refusedBefore;
            Files.writeString(wanted, Integer.toString(NEARLY_ALL));
            Requests growing = Scenario.load(gateway.port(), "/mvc/1").run(GROWING_RATE, Duration.ofSeconds(16));
            boolean exhausted = !process.isAlive() || process.output().contains("OutOfMemoryError");
            promises.add(
                    collector + ": refused, while half of the heap is live",
                    "0",
                    "%d of %d (%.0f/s), live: %s"
                            .formatted(
                                    refused,
                                    steady.requests(),
                                    steady.perSecond(),
                                    Ballast.lastMeasured(process.output())),
                    refused + steady.refused() == 0);
            double shed = growing.percent(one -> one.outcome().equals("gateway-overloaded"));
            promises.add(
                    collector + ": the live set grows until the heap is nearly full",
                    "refuses before an error",
                    "%.0f %% refused, %.0f %% answered%s"
                            .formatted(shed, growing.successPercent(), exhausted ? ", OutOfMemoryError" : ""),
                    shed > 0 && !exhausted);
        }
    }

    private static Wrk load(Processes processes, RunningServer gateway, Duration time) throws InterruptedException {
        return Wrk.run(processes, List.of(), CONNECTIONS, time, gateway.url() + "/mvc/1");
    }

    private static long refused(RunningServer gateway) {
        return gateway.count("weir_requests_seconds_count", "outcome=\"gateway-overloaded\"");
    }
}
