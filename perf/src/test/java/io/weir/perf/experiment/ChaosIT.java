package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import com.github.tomakehurst.wiremock.WireMockServer;
import com.github.tomakehurst.wiremock.client.WireMock;
import com.github.tomakehurst.wiremock.core.WireMockConfiguration;
import io.weir.perf.run.BriefRun;
import io.weir.perf.run.ChaosOptions;
import io.weir.perf.run.Host;
import io.weir.perf.run.HttpControl;
import io.weir.perf.run.PerfRun;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RunOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * A chaos run against a deployed gateway whose backend is WireMock. The run holds for a route with its
 * protections, and fails for one without breaker and deadline. Both are measured at the same time, beside
 * {@code ScenarioIT}.
 */
@Tag("full")
@Execution(ExecutionMode.CONCURRENT)
@ResourceLock(BriefRun.BUILT_JARS)
class ChaosIT {

    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    @TempDir
    private Path directory;

    /** Without conditions on latencies of the neighbour, so that a busy machine does not matter. */
    private static final class Brief extends Chaos {

        @Override
        ChaosPhases phases(boolean quick, ChaosOptions options) {
            return new ChaosPhases(2, 1, options.recoverySeconds());
        }
    }

    private static ChaosOptions options(String route) {
        return new ChaosOptions(
                route,
                "/" + route,
                "neighbour",
                "/neighbour",
                List.of("hang"),
                20,
                4,
                100,
                5,
                100,
                10_000,
                3,
                1_500,
                40);
    }

    @Test
    void holdsWithProtectionsAndFailsWithoutThem() throws Exception {
        WireMockServer backend =
                new WireMockServer(WireMockConfiguration.options().dynamicPort().bindAddress("127.0.0.1"));
        int port = Host.freePort();
        int management = Host.freePort();
        try (Processes processes = Processes.unlimited()) {
            backend.start();
            backend.stubFor(WireMock.get(WireMock.anyUrl()).willReturn(WireMock.ok("answered")));
            startGateway(processes, port, management, backend.port());
            processes.await(
                    "gateway",
                    () -> HttpControl.answers("http://127.0.0.1:" + port + "/safe")
                            && HttpControl.answers("http://127.0.0.1:" + management + "/actuator/health/readiness"));

            CompletableFuture<PerfRun.RunOutcome> safe = measure("safe", port, management);
            CompletableFuture<PerfRun.RunOutcome> bare = measure("bare", port, management);

            assertThat(safe.join().failures()).isEmpty();
            assertThat(bare.join().failures())
                    .anyMatch(failure -> failure.contains("nobody waits longer than"))
                    .anyMatch(failure -> failure.contains("wait for a backend that is known to hang"))
                    .noneMatch(failure -> failure.contains("neighbour"));
            assertThat(Files.readString(directory.resolve("safe/requests.csv")))
                    .contains(",route,circuit-open")
                    .contains(",neighbour,success");
            assertThat(HttpControl.get("http://127.0.0.1:" + management + "/actuator/weirfaults")
                            .orElseThrow())
                    .as("all faults have ended")
                    .contains("\"faults\":[]");
        } finally {
            backend.stop();
        }
    }

    private CompletableFuture<PerfRun.RunOutcome> measure(String route, int port, int management) {
        RunOptions options =
                RunOptions.chaos("http://127.0.0.1:" + port, "http://127.0.0.1:" + management, "", options(route));
        return CompletableFuture.supplyAsync(() -> {
            try {
                return PerfRun.measure(new Brief(), options, ROOT, directory.resolve(route), Duration.ZERO);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(e);
            }
        });
    }

    private void startGateway(Processes processes, int port, int management, int backend) throws IOException {
        Path config = Files.writeString(directory.resolve("gateway.yml"), """
                server: { address: 127.0.0.1, port: %1$d }
                management.server.port: %2$d
                spring.cloud.gateway.server.webflux.routes:
                  - { id: safe, uri: "backend://safe", predicates: ["Path=/safe"] }
                  - { id: bare, uri: "backend://bare", predicates: ["Path=/bare"] }
                  - { id: neighbour, uri: "backend://neighbour", predicates: ["Path=/neighbour"] }
                weir:
                  faults: { enabled: true }
                  access-log: { enabled: false }
                  drain: { delay: 0s, timeout: 1s }
                  # A busy machine delays the event loops; the gateway would refuse calls of the neighbour.
                  overload: { target-event-loop-delay: 1s, max-event-loop-delay: 1s }
                  backends:
                    safe: { uri: "http://127.0.0.1:%3$d", deadline: 500ms }
                    neighbour: { uri: "http://127.0.0.1:%3$d", deadline: 5s }
                    bare:
                      uri: http://127.0.0.1:%3$d
                      deadline: 500ms
                      deadline-enforce: false
                      bulkhead: { max-concurrent-calls: 100 }
                      circuit-breaker: { enforce: false }
                """.formatted(port, management, backend));
        processes.start(
                "gateway",
                List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx256m",
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-jar",
                        ROOT.resolve("gateway/target/weir-gateway.jar").toString(),
                        config.toString()),
                Map.of());
    }
}
