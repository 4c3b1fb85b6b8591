package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.weir.perf.experiment.Containment.ContainmentExtent;
import io.weir.perf.experiment.Containment.Front;
import io.weir.perf.run.BriefRun;
import io.weir.perf.run.Host;
import io.weir.perf.run.HttpControl;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RemoteTarget;
import io.weir.perf.run.RunOptions;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * A gateway that was started elsewhere is measured for seconds. Its backend gets a fault and is healed, and
 * it keeps running. With {@code -Dpeers=true}.
 */
@Tag("full")
@EnabledIfSystemProperty(named = "peers", matches = "true")
@Isolated
class TargetIT {

    @TempDir
    private Path directory;

    /** No conditions on latencies, so that a busy machine does not matter. */
    private static final class Brief extends Containment {

        @Override
        ContainmentExtent extent(boolean quick, boolean remote) {
            return new ContainmentExtent(
                    List.of(Front.TARGET),
                    List.of(Front.TARGET),
                    1,
                    new NeighbourLoad(new PhasedLoad.Phases(2).thenFault(1, "hang", 2, 1), 20, 10, 20),
                    List.of(LoadAssertion.successPercent(60)),
                    List.of(),
                    List.of());
        }
    }

    @Test
    void measuresAndHealsRemoteTarget() throws Exception {
        HttpServer neighbour = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        int port = Host.freePort();
        int control = Host.freePort();
        int gatewayPort = Host.freePort();
        URI gateway = URI.create("http://127.0.0.1:" + gatewayPort);
        URI faults = URI.create("http://127.0.0.1:" + control);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
                Processes processes = Processes.unlimited()) {
            startSimulator(processes, port, control);
            startGateway(processes, gatewayPort, port, neighbour.getAddress().getPort());
            neighbour.setExecutor(threads);
            neighbour.createContext("/", exchange -> {
                exchange.sendResponseHeaders(200, -1);
                exchange.close();
            });
            neighbour.start();
            processes.await("simulator", () -> HttpControl.answers("http://127.0.0.1:" + port + "/work"));
            processes.await("gateway", () -> HttpControl.answers(gateway + "/mvc/work"));
            RunOptions options =
                    new RunOptions(List.of(), false, true, 0, Optional.of(new RemoteTarget(gateway, faults)));
            BriefRun run = BriefRun.of(new Brief(), options, directory.resolve("raw"));

            assertThat(run.outcome().failures()).isEmpty();
            assertThat(run.rows("assertions"))
                    .singleElement()
                    .asString()
                    .startsWith("target,neighbour: hang")
                    .contains(",true,");
            assertThat(run.rows("steps")).singleElement().asString().startsWith("1,target: hang,,");
            assertThat(run.rows("spans")).singleElement().asString().startsWith("1,hang,");
            assertThat(run.rows("requests"))
                    .as("the gateway's reason, as the caller saw it")
                    .anyMatch(row -> row.endsWith(",sick,deadline-exceeded"))
                    .anyMatch(row -> row.endsWith(",neighbour,success"));
            assertThat(run.rows("processes"))
                    .as("remote processes are not sampled")
                    .isNotEmpty()
                    .allMatch(row -> row.contains(",gatling-target,"));
            assertThat(run.properties())
                    .contains("gateway.url=" + gateway)
                    .noneMatch(line -> line.startsWith("gateway.version="));
            assertThat(HttpControl.get(faults + "/faults").orElseThrow().replaceAll("\\s", ""))
                    .isEqualTo("{\"faults\":[]}");
            assertThat(HttpControl.answers(gateway + "/reactive/delay"))
                    .as("it keeps running")
                    .isTrue();
        } finally {
            neighbour.stop(0);
        }
    }

    private void startSimulator(Processes processes, int port, int control) {
        start(
                processes,
                "simulator",
                Map.of(),
                BriefRun.ROOT
                        .resolve("backends-sim/target/weir-backends-sim.jar")
                        .toString(),
                "--sim.stack=mvc-jdbc",
                "--server.address=127.0.0.1",
                "--server.port=" + port,
                "--management.server.port=" + control,
                "--sim.database.state-dir=" + directory.resolve("database"));
    }

    private static void startGateway(Processes processes, int port, int mvc, int reactive) {
        start(
                processes,
                "gateway",
                Map.of(
                        "GATEWAY_PORT", Integer.toString(port),
                        "MANAGEMENT_PORT", Integer.toString(Host.freePort()),
                        "MVC_PORT", Integer.toString(mvc),
                        "REACTIVE_PORT", Integer.toString(reactive)),
                BriefRun.ROOT.resolve("gateway/target/weir-gateway.jar").toString(),
                BriefRun.ROOT.resolve("config/local.yml").toString());
    }

    /** A JVM that lives for seconds needs less compilation. */
    private static void start(Processes processes, String name, Map<String, String> environment, String... jar) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-jar"));
        command.addAll(List.of(jar));
        processes.start(name, command, environment);
    }
}
