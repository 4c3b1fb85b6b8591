package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestGateway;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Several gateways share the limit of a backend; DNS returns their number, and nothing else connects them.
 *
 * <p>{@link GatewayCountTest} tests in virtual time that a change takes effect at the next refresh. The
 * timeouts here only allow for a busy machine.
 */
class ClusterScopeIT {

    private static final int LIMIT = 10;
    private static final int GATEWAYS = 3;

    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final FakeDns dns = new FakeDns(GATEWAYS);
    private final TestBackend backend = TestBackend.healthy();
    private final List<TestGateway> gateways = new ArrayList<>();

    @Test
    void dividesALimitAmongGatewaysAndFollowsDns() throws Exception {
        for (int i = 0; i < GATEWAYS; i++) {
            gateways.add(start());
        }
        for (TestGateway gateway : gateways) {
            await().until(() -> limit(gateway) == LIMIT / GATEWAYS);
            await().until(() -> replicas(gateway) == GATEWAYS);
        }

        backend.behave(backend.hang());
        List<CompletableFuture<HttpResponse<String>>> calls = new ArrayList<>();
        for (int i = 0; i < LIMIT * GATEWAYS; i++) {
            calls.add(call(gateways.get(i % GATEWAYS)));
        }
        // Calls with a permit hang in the backend until it answers; all others are refused at once.
        int permits = LIMIT / GATEWAYS * GATEWAYS;
        await().until(() -> calls.stream().filter(CompletableFuture::isDone).count() == calls.size() - permits);
        await().until(() -> backend.requests() == permits);
        for (CompletableFuture<HttpResponse<String>> refused : calls) {
            if (refused.isDone()) {
                assertThat(refused.join().body()).contains("urn:weir:bulkhead-full");
            }
        }

        awaitAll(2, 5, 0);
        awaitAll(1, LIMIT, 0);
        awaitAll(LIMIT + 1, 1, 1);
        dns.silent();
        TestGateway gateway = gateways.getFirst();
        await().until(() -> metric(gateway, "weir_cluster_failures_total") > 0);
        assertThat(limit(gateway)).isEqualTo(1);
        assertThat(metric(gateway, "weir_cluster_gateways")).isEqualTo(LIMIT + 1);
    }

    private void awaitAll(int count, int permits, int floored) {
        dns.gateways(count);
        for (TestGateway gateway : gateways) {
            await().until(() -> limit(gateway) == permits
                    && metric(gateway, "weir_permits_floored{backend=\"orders\"}") == floored
                    && replicas(gateway) == count);
        }
    }

    private TestGateway start() {
        return TestGateway.setup()
                .weir("cluster: { gateways: %s, dns-server: \"%s\", refresh-interval: 200ms }"
                        .formatted(FakeDns.NAME, dns.address()))
                .backend(
                        "orders",
                        backend.uri(),
                        "deadline: 5m",
                        "connection: { connect-timeout: 10s }",
                        "bulkhead: { scope: cluster, max-concurrent-calls: " + LIMIT
                                + ", queue-capacity: 0, max-wait-duration: 0 }")
                .route("orders", "orders")
                .start();
    }

    private CompletableFuture<HttpResponse<String>> call(TestGateway gateway) {
        URI uri = URI.create("http://127.0.0.1:" + gateway.port() + Door.COMPILED.path("orders", ""));
        return client.sendAsync(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
    }

    private int limit(TestGateway gateway) throws Exception {
        JsonNode orders = JsonMapper.shared().readTree(get(gateway, "/actuator/weir/orders"));
        return orders.path("calls").path("limit").asInt();
    }

    /** The event that the dashboard receives. */
    private int replicas(TestGateway gateway) throws Exception {
        try (Stream<String> lines = client.send(management(gateway, "/actuator/weirstream"), BodyHandlers.ofLines())
                .body()) {
            String first =
                    lines.filter(line -> line.startsWith("data: ")).findFirst().orElseThrow();
            return JsonMapper.shared()
                    .readTree(first.substring("data: ".length()))
                    .path("replicas")
                    .asInt();
        }
    }

    private double metric(TestGateway gateway, String sample) throws Exception {
        return get(gateway, "/actuator/prometheus")
                .lines()
                .filter(line -> line.startsWith(sample + " "))
                .mapToDouble(line -> Double.parseDouble(line.substring(sample.length() + 1)))
                .findFirst()
                .orElse(-1);
    }

    private String get(TestGateway gateway, String path) throws Exception {
        return client.send(management(gateway, path), BodyHandlers.ofString()).body();
    }

    private static HttpRequest management(TestGateway gateway, String path) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + gateway.managementPort() + path))
                .build();
    }

    @AfterEach
    void stop() {
        backend.close();
        client.shutdownNow();
        gateways.forEach(TestGateway::close);
        dns.close();
    }
}
