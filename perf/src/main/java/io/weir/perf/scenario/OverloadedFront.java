package io.weir.perf.scenario;

import io.weir.perf.LightBackend;
import io.weir.perf.WorkerService;
import io.weir.perf.run.Host;
import io.weir.perf.run.PeerProxy;
import io.weir.perf.run.Processes;
import io.weir.perf.run.Processes.Role;
import io.weir.perf.run.RunningServer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import reactor.core.publisher.Mono;

/**
 * A front, and behind it a backend of its own with a queue and a known capacity. The backend completes
 * abandoned calls, too.
 */
final class OverloadedFront implements AutoCloseable {

    static final int WORKERS = 10;
    static final Duration SERVICE_TIME = Duration.ofMillis(50);
    /** Calls per second that the backend can complete. */
    static final double CAPACITY = 200;

    private final WorkerService service = new WorkerService(WORKERS, SERVICE_TIME);
    private final LightBackend backend = LightBackend.answeringOk(service);
    private final Processes processes = Processes.unlimited();
    private Optional<RunningServer> gateway = Optional.empty();
    private int port;

    private OverloadedFront() {}

    /** Starts the gateway with its default limits, and warms its JVM with calls of the neighbour. */
    static OverloadedFront gateway(Scenario.Options options, List<String> properties) throws Exception {
        OverloadedFront front = new OverloadedFront();
        try (LightBackend warm = LightBackend.answeringOk(
                request -> Mono.delay(Duration.ofMillis(2)).then())) {
            List<String> all = new ArrayList<>(List.of(
                    "--weir.backends.mvc.bulkhead.max-concurrent-calls=auto",
                    "--weir.backends.mvc.bulkhead.queue-capacity=auto",
                    "--weir.backends.mvc.bulkhead.max-wait-duration=auto"));
            all.addAll(properties);
            RunningServer started = options.startGateway(front.processes, front.backend.port(), warm.port(), all);
            front.gateway = Optional.of(started);
            front.port = started.port();
            Scenario.load(front.port, "/reactive/1").run(500, Duration.ofSeconds(8));
            return front;
        } catch (Exception e) {
            front.close();
            throw e;
        }
    }

    /** Starts a peer with the template of a scenario. */
    static OverloadedFront peer(Scenario.Options options, PeerProxy peer, String scenario) throws Exception {
        OverloadedFront front = new OverloadedFront();
        try {
            String template = peer.label() + '-' + scenario + (peer == PeerProxy.ENVOY ? ".yaml" : ".cfg");
            front.port =
                    options.startPeer(front.processes, peer, template, Map.of("BACKEND_PORT", front.backend.port()));
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
        String jcmd = Path.of(Host.java()).resolveSibling("jcmd").toString();
        String pid = Long.toString(gateway().process().orElseThrow().pid());
        processes.run(Role.AUXILIARY, "jcmd", List.of(jcmd, pid, "GC.run"), Duration.ofMinutes(1));
        return gateway().metric("jvm_memory_used_bytes", "area=\"heap\"") / 1e6;
    }

    @Override
    public void close() {
        processes.close();
        backend.close();
    }
}
