package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.weir.perf.run.Child;
import io.weir.perf.run.Fleet;
import io.weir.perf.run.Host;
import io.weir.perf.run.Run;
import io.weir.perf.run.Target;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * A gateway that somebody else has started, asked for seconds: what it does is measured, its backend is broken and healed, and it goes on. With {@code -Plong}.
 */
@Timeout(300)
@EnabledIfSystemProperty(named = "peers", matches = "true")
class TargetIT {

    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    @TempDir
    private Path directory;

    /** Only counts, so that a busy machine does not matter. */
    private static final class Brief extends Containment {

        @Override
        Extent extent(boolean quick) {
            return new Extent(
                    List.of(Front.TARGET),
                    List.of(Front.TARGET),
                    List.of("hang"),
                    Duration.ofSeconds(2),
                    Duration.ofSeconds(1),
                    Duration.ofSeconds(2),
                    Duration.ofSeconds(1),
                    1,
                    20,
                    10,
                    20,
                    Map.of("contained.percent", "60"));
        }
    }

    @Test
    void isBrokenMeasuredAndHealed() throws Exception {
        HttpServer neighbour = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        int port = Host.freePort();
        int control = Host.freePort();
        int gatewayPort = Host.freePort();
        URI gateway = URI.create("http://127.0.0.1:" + gatewayPort);
        URI faults = URI.create("http://127.0.0.1:" + control);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
                Child simulator = simulator(port, control);
                Child door = gateway(gatewayPort, port, neighbour.getAddress().getPort())) {
            neighbour.setExecutor(threads);
            neighbour.createContext("/", exchange -> {
                exchange.sendResponseHeaders(200, -1);
                exchange.close();
            });
            neighbour.start();
            simulator.awaitAnswer(URI.create("http://127.0.0.1:" + port + "/work"));
            door.awaitAnswer(gateway.resolve("/mvc/work"));
            Path raw = directory.resolve("raw");

            Run.Outcome outcome = Run.measure(
                    new Brief(),
                    true,
                    0,
                    Optional.of(new Target(gateway, faults)),
                    ROOT,
                    raw,
                    Duration.ZERO,
                    System.out);

            assertThat(outcome.failures()).isEmpty();
            assertThat(rows(raw, "assertions"))
                    .singleElement()
                    .asString()
                    .startsWith("target,neighbour: hang")
                    .contains(",true,");
            assertThat(rows(raw, "steps")).singleElement().asString().startsWith("1,target: hang,,");
            assertThat(rows(raw, "spans")).singleElement().asString().startsWith("1,hang,");
            assertThat(rows(raw, "requests"))
                    .as("the gateway's reason, as the caller saw it")
                    .anyMatch(row -> row.endsWith(",sick,deadline-exceeded"))
                    .anyMatch(row -> row.endsWith(",neighbour,success"));
            assertThat(rows(raw, "processes"))
                    .as("what runs elsewhere cannot be sampled")
                    .isNotEmpty()
                    .allMatch(row -> row.contains(",gatling-target,"));
            assertThat(Files.readAllLines(raw.resolve("run.properties")))
                    .contains("gateway.url=" + gateway)
                    .noneMatch(line -> line.startsWith("gateway.version="));
            assertThat(Fleet.text(faults + "/faults").orElseThrow().replaceAll("\\s", ""))
                    .isEqualTo("{\"faults\":[]}");
            assertThat(Fleet.answers(gateway + "/reactive/delay"))
                    .as("it goes on")
                    .isTrue();
        } finally {
            neighbour.stop(0);
        }
    }

    private Child simulator(int port, int control) throws IOException {
        return start(
                "simulator",
                Map.of(),
                ROOT.resolve("backends-sim/target/weir-backends-sim.jar").toString(),
                "--sim.stack=mvc-jdbc",
                "--server.address=127.0.0.1",
                "--server.port=" + port,
                "--management.server.port=" + control,
                "--sim.database.state-dir=" + directory.resolve("database"));
    }

    private static Child gateway(int port, int mvc, int reactive) throws IOException {
        return start(
                "gateway",
                Map.of(
                        "GATEWAY_PORT", Integer.toString(port),
                        "MANAGEMENT_PORT", Integer.toString(Host.freePort()),
                        "MVC_PORT", Integer.toString(mvc),
                        "REACTIVE_PORT", Integer.toString(reactive)),
                ROOT.resolve("gateway/target/weir-gateway.jar").toString(),
                ROOT.resolve("config/local.yml").toString());
    }

    /** The JVMs live for seconds: less to compile is more for the rest. */
    private static Child start(String name, Map<String, String> environment, String... jar) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-jar"));
        command.addAll(List.of(jar));
        return Child.start(name, command, environment);
    }

    private static List<String> rows(Path raw, String file) throws IOException {
        return Files.readAllLines(raw.resolve(file + ".csv")).stream().skip(1).toList();
    }
}
