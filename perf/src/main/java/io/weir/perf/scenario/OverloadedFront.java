package io.weir.perf.scenario;

import io.weir.perf.LightBackend;
import io.weir.perf.WorkerService;
import io.weir.perf.run.PeerProxy;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RunningServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A front, and behind it a backend of its own with a queue and a known capacity. The backend completes
 * abandoned calls, too.
 */
final class OverloadedFront implements AutoCloseable {

    static final int WORKERS = 10;
    static final Duration SERVICE_TIME = Duration.ofMillis(50);
    /** Calls per second that the backend can complete. */
    static final double CAPACITY = 200;

    private static final String BULKHEAD = "--weir.backends.mvc.bulkhead.";

    private final WorkerService service;
    private final LightBackend backend;
    private final Processes processes = Processes.unlimited();
    private Optional<RunningServer> gateway = Optional.empty();
    private int port;

    private OverloadedFront(WorkerService service) {
        this.service = service;
        this.backend = LightBackend.answeringOk(service);
    }

    /** Starts the gateway in front of ten workers; it finds its limit by itself. */
    static OverloadedFront gateway(Scenario.Options options, List<String> properties) throws Exception {
        List<String> all = new ArrayList<>(properties);
        all.add(limit("auto"));
        return gateway(options, new WorkerService(WORKERS, SERVICE_TIME), all);
    }

    /** The gateway's property for a number of concurrent calls, or for {@code auto}. */
    static String limit(String calls) {
        return BULKHEAD + "max-concurrent-calls=" + calls;
    }

    static OverloadedFront gateway(Scenario.Options options, WorkerService service, List<String> properties)
            throws Exception {
        OverloadedFront front = new OverloadedFront(service);
        try {
            RunningServer started = startGateway(options, front.processes, front.backend.port(), properties);
            front.gateway = Optional.of(started);
            front.port = started.port();
            return front;
        } catch (Exception e) {
            front.close();
            throw e;
        }
    }

    /** Starts the gateway, and warms its JVM with calls of the neighbour. */
    static RunningServer startGateway(
            Scenario.Options options, Processes processes, int backendPort, List<String> properties)
            throws InterruptedException {
        List<String> all = new ArrayList<>(properties);
        all.add(BULKHEAD + "queue-capacity=auto");
        all.add(BULKHEAD + "max-wait-duration=auto");
        try (LightBackend warm = LightBackend.answeringOk(WorkerService.unlimited(Duration.ofMillis(2)))) {
            RunningServer started = options.startGateway(processes, backendPort, warm.port(), all);
            Scenario.load(started.port(), "/reactive/1").run(500, Duration.ofSeconds(8));
            return started;
        }
    }

    /** Starts a peer in front of ten workers, with the template of a scenario. */
    static OverloadedFront peer(Scenario.Options options, PeerProxy peer, String scenario) throws Exception {
        return peer(options, new WorkerService(WORKERS, SERVICE_TIME), peer, scenario, Map.of());
    }

    static OverloadedFront peer(
            Scenario.Options options, WorkerService service, PeerProxy peer, String template, Map<String, ?> values)
            throws Exception {
        OverloadedFront front = new OverloadedFront(service);
        try {
            String file = peer.label() + '-' + template + (peer == PeerProxy.ENVOY ? ".yaml" : ".cfg");
            Map<String, Object> all = new TreeMap<>(values);
            all.put("BACKEND_PORT", front.backend.port());
            front.port = options.startPeer(front.processes, peer, file, all);
            return front;
        } catch (Exception e) {
            front.close();
            throw e;
        }
    }

    int port() {
        return port;
    }

    WorkerService service() {
        return service;
    }

    RunningServer gateway() {
        return gateway.orElseThrow();
    }

    /** The gateway, or nothing if the front is another proxy. */
    Optional<RunningServer> anyGateway() {
        return gateway;
    }

    /** The size of the live objects in the gateway's heap. */
    double liveHeapMegabytes() throws InterruptedException {
        processes.collectGarbage(gateway());
        return gateway().metric("jvm_memory_used_bytes", "area=\"heap\"") / 1e6;
    }

    @Override
    public void close() {
        processes.close();
        backend.close();
    }
}
