package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.WeirApplication;
import io.weir.testing.TestBackend;
import java.io.IOException;
import java.net.BindException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Several gateways, each in its own process, share the limit of a backend; DNS returns their number.
 *
 * <p>{@link GatewayCountTest} tests in virtual time that a change takes effect at the next refresh. The
 * timeouts here only allow for a busy machine.
 */
@Timeout(value = 4, unit = TimeUnit.MINUTES)
class ClusterScopeIT {

    private static final int LIMIT = 10;
    private static final int GATEWAYS = 3;
    private static final Duration START = Duration.ofMinutes(2);
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final FakeDns dns = new FakeDns(GATEWAYS);
    private final TestBackend backend = TestBackend.healthy();
    private final List<Process> processes = new ArrayList<>();
    private final List<Integer> ports = new ArrayList<>();
    private final List<Integer> managementPorts = new ArrayList<>();
    private final Set<Integer> given = new HashSet<>();

    @TempDir
    private Path directory;

    @Test
    void dividesALimitAmongGatewaysAndFollowsDns() throws Exception {
        for (int i = 0; i < GATEWAYS; i++) {
            start(i);
        }
        for (int port : managementPorts) {
            await().atMost(START).ignoreExceptions().until(() -> limit(port) == LIMIT / GATEWAYS);
            await().atMost(PATIENCE).until(() -> replicas(port) == GATEWAYS);
        }

        backend.behave(backend.hang());
        List<CompletableFuture<HttpResponse<String>>> calls = new ArrayList<>();
        for (int i = 0; i < LIMIT * GATEWAYS; i++) {
            calls.add(call(ports.get(i % GATEWAYS)));
        }
        // Calls with a permit hang in the backend until it answers; all others are refused at once.
        int permits = LIMIT / GATEWAYS * GATEWAYS;
        await().atMost(PATIENCE)
                .until(() -> calls.stream().filter(CompletableFuture::isDone).count() == calls.size() - permits);
        await().atMost(PATIENCE).until(() -> backend.requests() == permits);
        for (CompletableFuture<HttpResponse<String>> refused : calls) {
            if (refused.isDone()) {
                assertThat(refused.join().body()).contains("urn:weir:bulkhead-full");
            }
        }

        awaitAll(2, 5, 0);
        awaitAll(1, LIMIT, 0);
        awaitAll(LIMIT + 1, 1, 1);
        dns.silent();
        int port = managementPorts.getFirst();
        await().atMost(PATIENCE).until(() -> metric(port, "weir_cluster_failures_total") > 0);
        assertThat(limit(port)).isEqualTo(1);
        assertThat(metric(port, "weir_cluster_gateways")).isEqualTo(LIMIT + 1);
    }

    private void awaitAll(int gateways, int permits, int floored) {
        dns.gateways(gateways);
        for (int port : managementPorts) {
            await().atMost(PATIENCE)
                    .until(() -> limit(port) == permits
                            && metric(port, "weir_permits_floored{backend=\"orders\"}") == floored
                            && replicas(port) == gateways);
        }
    }

    private void start(int number) throws IOException {
        int port = freePort();
        int managementPort = freePort();
        Path file = Files.writeString(directory.resolve("gateway-" + number + ".yml"), """
                server: { address: 127.0.0.1, port: %d }
                management.server.port: %d
                spring.cloud.gateway.server.webflux.routes:
                  - { id: orders, uri: "backend://orders", predicates: ["Path=/**"] }
                weir:
                  access-log.enabled: false
                  cluster: { gateways: %s, dns-server: "%s", refresh-interval: 200ms }
                  drain: { delay: 0s, timeout: 0s }
                  overload.max-event-loop-delay: 1m
                  backends:
                    orders:
                      uri: %s
                      deadline: 5m
                      connection.connect-timeout: 10s
                      bulkhead: { scope: cluster, max-concurrent-calls: %d, queue-capacity: 0, max-wait-duration: 0 }
                """.formatted(
                        port, managementPort, FakeDns.NAME, dns.address(), backend.uri(), LIMIT));
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx128m",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        WeirApplication.class.getName(),
                        file.toString())
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("gateway-" + number + ".log").toFile());
        builder.environment().remove("JAVA_TOOL_OPTIONS");
        processes.add(builder.start());
        ports.add(port);
        managementPorts.add(managementPort);
    }

    private CompletableFuture<HttpResponse<String>> call(int port) {
        URI uri = URI.create("http://127.0.0.1:" + port + "/");
        return client.sendAsync(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
    }

    private int limit(int managementPort) throws Exception {
        JsonNode orders = JsonMapper.shared().readTree(get(managementPort, "/actuator/weir/orders"));
        return orders.path("calls").path("limit").asInt();
    }

    /** The event that the dashboard receives. */
    private int replicas(int managementPort) throws Exception {
        URI uri = URI.create("http://127.0.0.1:" + managementPort + "/actuator/weirstream");
        try (Stream<String> lines = client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofLines())
                .body()) {
            String first =
                    lines.filter(line -> line.startsWith("data: ")).findFirst().orElseThrow();
            return JsonMapper.shared()
                    .readTree(first.substring("data: ".length()))
                    .path("replicas")
                    .asInt();
        }
    }

    private double metric(int managementPort, String sample) throws Exception {
        return get(managementPort, "/actuator/prometheus")
                .lines()
                .filter(line -> line.startsWith(sample + " "))
                .mapToDouble(line -> Double.parseDouble(line.substring(sample.length() + 1)))
                .findFirst()
                .orElse(-1);
    }

    private String get(int port, String path) throws Exception {
        URI uri = URI.create("http://127.0.0.1:" + port + path);
        return client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString())
                .body();
    }

    /** A port below the ephemeral range: other tests open many connections before the gateway listens. */
    private int freePort() throws IOException {
        while (true) {
            try (ServerSocket socket =
                    new ServerSocket(ThreadLocalRandom.current().nextInt(20_000, 32_768))) {
                if (given.add(socket.getLocalPort())) {
                    return socket.getLocalPort();
                }
            } catch (BindException e) {
                // The port is in use: try another one.
            }
        }
    }

    @AfterEach
    void stop() throws InterruptedException {
        backend.close();
        for (Process process : processes) {
            process.destroy();
        }
        for (Process process : processes) {
            if (!process.waitFor(20, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        }
        client.shutdownNow();
        dns.close();
    }
}
