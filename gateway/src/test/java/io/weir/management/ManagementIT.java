package io.weir.management;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.config.check.BuildVersion;
import io.weir.edge.TlsEngine;
import io.weir.limit.QueueingBulkhead;
import io.weir.outcome.Reason;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.Refusals;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.assertj.core.data.Percentage;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.actuate.endpoint.web.WebEndpointHttpMethod;
import org.springframework.boot.actuate.endpoint.web.WebEndpointsSupplier;
import org.springframework.boot.actuate.endpoint.web.WebOperation;
import tools.jackson.databind.JsonNode;

/** The management port: its guard, endpoints and changes. */
class ManagementIT {

    private static final String TOKEN = "0123456789abcdef0123";
    private static final String READ_ONLY_TOKEN = "read-only-0123456789";
    private static final String ALICES_TOKEN = "alice-0123456789";

    private static TestBackend backend;
    private static TestGateway gateway;
    private static TestGateway guarded;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .weir("littles-law: { window: 10s }")
                .backend("orders", backend.uri(), "bulkhead: { max-concurrent-calls: 7 }")
                .backend("payments", backend.uri())
                .route("orders", "orders")
                .route("payments", "payments")
                .start();
        guarded = TestGateway.setup()
                .weir("management: { token: " + TOKEN + ", read-only-token: " + READ_ONLY_TOKEN
                        + ", operators: { alice: " + ALICES_TOKEN + " } }")
                .backend("orders", backend.uri())
                .route("orders", "orders")
                .start();
    }

    @AfterEach
    void nothingIsHeld() throws IOException {
        gateway.assertNothingHeld();
        guarded.assertNothingHeld();
    }

    @AfterAll
    static void stop() {
        guarded.close();
        gateway.close();
        backend.close();
    }

    // ---------------------------------------------------------------- access

    @Test
    void listensOnLoopbackOnAPortOfItsOwn() throws Exception {
        assertThat(gateway.managementPort()).isNotEqualTo(gateway.port());
        InetAddress other = NetworkInterface.networkInterfaces()
                .flatMap(NetworkInterface::inetAddresses)
                .filter(address -> !address.isLoopbackAddress() && !address.isLinkLocalAddress())
                .findFirst()
                .orElse(null);
        if (other != null) {
            assertThat(connects(other, gateway.managementPort()))
                    .as("management on %s", other)
                    .isFalse();
            assertThat(connects(other, gateway.port()))
                    .as("the gateway on %s", other)
                    .isTrue();
        }
        for (String path : List.of("/actuator", "/actuator/weir", "/actuator/health")) {
            Refusals.assertRefused(TestCaller.get(gateway.port(), path), Reason.NO_ROUTE);
        }
    }

    @Test
    void requiresTheTokenForEverythingExceptHealth() throws Exception {
        for (String path :
                List.of("/actuator/weir", "/actuator/prometheus", "/actuator/bulkheads", "/actuator", "/x")) {
            TestCaller.Answer without = TestCaller.get(guarded.managementPort(), path);
            assertThat(without.status()).as(path).isEqualTo(401);
            assertThat(without.header("www-authenticate")).startsWith("Bearer");
            assertThat(TestCaller.get(guarded.managementPort(), path, "Authorization: Bearer wrong")
                            .status())
                    .as(path)
                    .isEqualTo(401);
        }
        assertThat(TestCaller.get(guarded.managementPort(), "/actuator/health/readiness")
                        .status())
                .isEqualTo(200);
        assertThat(TestCaller.get(guarded.managementPort(), "/actuator/weir", "Authorization: Bearer " + TOKEN)
                        .status())
                .isEqualTo(200);
    }

    @Test
    void forcesNoBreakerWithoutTheToken() throws Exception {
        assertThat(post(guarded, "/actuator/weir/orders", "{\"breaker\":\"open\"}", null)
                        .status())
                .isEqualTo(401);
        assertThat(guarded.backend("orders").health().state()).isEqualTo(State.CLOSED);

        assertThat(post(guarded, "/actuator/weir/orders", "{\"breaker\":\"open\"}", TOKEN)
                        .status())
                .isEqualTo(200);
        for (Door door : Door.values()) {
            Refusals.assertRefused(TestCaller.get(guarded.port(), door.path("orders", "forced")), Reason.CIRCUIT_OPEN);
        }
        assertThat(post(guarded, "/actuator/weir/orders", "{\"breaker\":\"released\"}", TOKEN)
                        .status())
                .isEqualTo(200);
        for (Door door : Door.values()) {
            assertThat(TestCaller.get(guarded.port(), door.path("orders", "released"))
                            .status())
                    .isEqualTo(200);
        }
    }

    @Test
    void readsAndChangesNothingWithTheReadOnlyToken() throws Exception {
        for (String path : List.of(
                "/actuator/weir", "/actuator/prometheus", "/actuator/weirconfig", "/actuator/circuitbreakers")) {
            assertThat(TestCaller.get(guarded.managementPort(), path, "Authorization: Bearer " + READ_ONLY_TOKEN)
                            .status())
                    .as(path)
                    .isEqualTo(200);
        }
        TestCaller.Answer refused = post(guarded, "/actuator/weir/orders", "{\"breaker\":\"open\"}", READ_ONLY_TOKEN);
        assertThat(refused.status()).isEqualTo(403);
        assertThat(refused.text()).contains("token: read-only (expected: a token that permits changes)");
        assertThat(guarded.backend("orders").health().state()).isEqualTo(State.CLOSED);
    }

    @Test
    void auditNamesTheHolderOfTheTokenAndNeverTheToken() throws Exception {
        assertThat(post(guarded, "/actuator/weir/orders", "{\"breaker\":\"released\"}", ALICES_TOKEN)
                        .status())
                .isEqualTo(200);

        RecentEvents.Event event = guarded.bean(RecentEvents.class).last().getFirst();
        assertThat(event.by()).startsWith("alice (127.0.0.1:");
        for (String token : List.of(TOKEN, READ_ONLY_TOKEN, ALICES_TOKEN)) {
            assertThat(guarded.bean(RecentEvents.class).last().toString()).doesNotContain(token);
            assertThat(TestCaller.get(
                                    guarded.managementPort(),
                                    "/actuator/weirconfig",
                                    "Authorization: Bearer " + READ_ONLY_TOKEN)
                            .text())
                    .contains("weir.management.operators.alice")
                    .doesNotContain(token);
        }
    }

    /** A page whose site points its own name to this machine sends that name. */
    @Test
    void refusesReadsForAHostThatDnsMayHaveRebound() throws Exception {
        for (String path : List.of("/actuator/weirconfig", "/actuator/weirstream", "/actuator/health", "/dashboard")) {
            try (TestCaller caller = TestCaller.to(gateway.managementPort())) {
                caller.send("GET " + path + " HTTP/1.1\r\nHost: rebound.example:8081\r\n\r\n");
                TestCaller.Answer answer = caller.answer();
                assertThat(answer.status()).as(path).isEqualTo(421);
                assertThat(answer.text()).contains("weir.management.allowed-hosts");
            }
        }
    }

    /** Covers all write operations; fails if one is added and not listed here. */
    @Test
    void rejectsWritesWithoutTheTokenOrFromAnotherOrigin() throws Exception {
        List<String> writes = guarded.bean(WebEndpointsSupplier.class).getEndpoints().stream()
                .flatMap(endpoint -> endpoint.getOperations().stream())
                .map(WebOperation::getRequestPredicate)
                .filter(operation -> operation.getHttpMethod() != WebEndpointHttpMethod.GET)
                .map(operation -> operation.getHttpMethod() + " /actuator/" + operation.getPath())
                .sorted()
                .toList();
        assertThat(writes)
                .containsExactly(
                        "DELETE /actuator/weirfaults",
                        "DELETE /actuator/weirfaults/{id}",
                        "DELETE /actuator/weirlastgood",
                        "DELETE /actuator/weirlastgood/{route}",
                        "POST /actuator/weir/{backend}",
                        "POST /actuator/weirfaults",
                        "POST /actuator/weirreload");

        int limit = guarded.backend("orders").bulkhead().maxConcurrentCalls();
        String token = "Authorization: Bearer " + TOKEN;
        for (String write : writes) {
            String method = write.substring(0, write.indexOf(' '));
            String path = write.substring(write.indexOf(' ') + 1)
                    .replace("{backend}", "orders")
                    .replace("{id}", "1")
                    .replace("{route}", "orders");
            String body = path.endsWith("orders") ? "{\"breaker\":\"open\",\"max-concurrent-calls\":3}" : "";
            assertThat(sent(method, path, body)).as(write).isEqualTo(401);
            assertThat(sent(method, path, body, token + "x")).as(write).isEqualTo(401);
            for (String foreignOrigin : List.of(
                    "Origin: http://evil.example",
                    "Origin: null",
                    "Sec-Fetch-Site: cross-site",
                    "Sec-Fetch-Site: same-site")) {
                assertThat(sent(method, path, body, token, foreignOrigin))
                        .as("%s, %s", write, foreignOrigin)
                        .isEqualTo(403);
            }
        }
        assertThat(guarded.backend("orders").health().state()).isEqualTo(State.CLOSED);
        assertThat(guarded.backend("orders").bulkhead().maxConcurrentCalls()).isEqualTo(limit);
        assertThat(guarded.bean(LiveConfiguration.class).history().changes()).isEmpty();
    }

    private static int sent(String method, String path, String body, String... fields) throws IOException {
        List<String> all =
                new ArrayList<>(List.of("Content-Type: application/json", "Content-Length: " + body.length()));
        all.addAll(List.of(fields));
        try (TestCaller caller = TestCaller.to(guarded.managementPort())) {
            caller.send(TestCaller.head(method, path, all.toArray(String[]::new)) + body);
            return caller.answer().status();
        }
    }

    /** The JDK's client offers an upgrade to HTTP/2 with each request. */
    @Test
    void acceptsABodyFromAClientThatOffersHttp2() throws Exception {
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpResponse<String> answer = client.send(
                    HttpRequest.newBuilder(URI.create(
                                    "http://127.0.0.1:" + gateway.managementPort() + "/actuator/weir/orders"))
                            .header("Content-Type", "application/json")
                            .POST(HttpRequest.BodyPublishers.ofString("{\"breaker\":\"released\"}"))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
            assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        }
    }

    @Test
    void rejectsChangesThroughResilience4jsEndpoints() throws Exception {
        for (String path : List.of("/actuator/circuitbreakers/orders", "/actuator/circuitbreakers/unknown")) {
            assertThat(post(gateway, path, "{\"updateState\":\"FORCE_OPEN\"}", null)
                            .status())
                    .as(path)
                    .isIn(404, 405);
        }
        assertThat(gateway.backend("orders").health().state()).isEqualTo(State.CLOSED);
        assertThat(get("/actuator/circuitbreakers").at("/circuitBreakers").propertyNames())
                .doesNotContain("unknown");
    }

    @Test
    void exposesNoEndpointThatShowsSecretsOrChangesTheProcess() throws Exception {
        for (String name : List.of("env", "configprops", "beans", "heapdump", "threaddump", "shutdown", "loggers")) {
            assertThat(TestCaller.get(gateway.managementPort(), "/actuator/" + name)
                            .status())
                    .as(name)
                    .isEqualTo(404);
        }
    }

    // ---------------------------------------------------------------- content

    @Test
    void showsEveryBackendInResilience4jsEndpoints() throws Exception {
        assertThat(get("/actuator/circuitbreakers").at("/circuitBreakers").propertyNames())
                .containsExactlyInAnyOrder("orders", "payments", "neighbour");
        assertThat(get("/actuator/bulkheads").at("/bulkheads").valueStream().map(JsonNode::asString))
                .containsExactlyInAnyOrder("orders", "payments", "neighbour");
        for (Door door : Door.values()) {
            assertThat(TestCaller.get(gateway.port(), door.path("orders", "event"))
                            .status())
                    .isEqualTo(200);
        }
        await().until(() -> get("/actuator/circuitbreakerevents/orders")
                        .at("/circuitBreakerEvents")
                        .size()
                >= 2);
    }

    @Test
    void showsRejectedCallsInResilience4jsEvents() throws Exception {
        QueueingBulkhead bulkhead = gateway.backend("payments").bulkhead();
        int taken = 0;
        while (bulkhead.tryAcquire()) {
            taken++;
        }
        for (Door door : Door.values()) {
            assertThat(TestCaller.get(gateway.port(), door.path("payments", "one-too-many"))
                            .status())
                    .isEqualTo(503);
        }
        for (int i = 0; i < taken; i++) {
            bulkhead.release();
        }

        await().untilAsserted(() -> assertThat(get("/actuator/bulkheadevents/payments")
                        .at("/bulkheadEvents")
                        .valueStream()
                        .map(event -> event.path("type").asString()))
                .containsExactly("CALL_REJECTED", "CALL_REJECTED"));
    }

    @Test
    void showsTheDoorOfEachRouteAndTheReason() throws Exception {
        List<JsonNode> routes =
                get("/actuator/weir").at("/routes").valueStream().toList();
        assertThat(routes).hasSize(6);
        for (JsonNode route : routes) {
            boolean compiled = route.path("id").asString().endsWith("-compiled");
            assertThat(route.path("door").asString()).isEqualTo(compiled ? "compiled" : "general");
            if (compiled) {
                assertThat(route.path("why").isNull()).isTrue();
            } else {
                assertThat(route.path("why").asString()).contains("After");
            }
        }
    }

    @Test
    void showsLittlesLawLiveAndOverJmx() throws Exception {
        int before = get("/actuator/weir/payments").at("/law/retired").asInt();
        int served = 60;
        for (int i = 0; i < served; i++) {
            Door door = i % 2 == 0 ? Door.COMPILED : Door.GENERAL;
            assertThat(TestCaller.get(gateway.port(), door.path("payments", "law"))
                            .status())
                    .isEqualTo(200);
        }
        await().until(() -> get("/actuator/weir/payments").at("/law/retired").asInt() == before + served);

        JsonNode law = get("/actuator/weir/payments").at("/law");
        double rate = law.path("arrivalRate").asDouble();
        double service = law.path("serviceMs").asDouble();
        assertThat(rate).isPositive();
        assertThat(service).isPositive();
        // L = λ · W, of one snapshot.
        assertThat(law.path("activeCalls").asDouble()).isCloseTo(rate * service / 1000, Percentage.withPercentage(1));
        assertThat(law.path("limit").asInt()).isEqualTo(64);
        assertThat(law.path("waitingShare").asDouble()).isZero();

        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        ObjectName name = new ObjectName("io.weir:type=Backend,name=payments");
        assertThat(server.getAttribute(name, "RetiredRequests")).isEqualTo((long) before + served);
        assertThat(server.getAttribute(name, "Limit")).isEqualTo(64);
        assertThat(server.getAttribute(name, "Active")).isEqualTo(0);
        assertThat((double) server.getAttribute(name, "ArrivalRate")).isPositive();
    }

    @Test
    void showsTheSameVersionAndEngineEverywhere() throws Exception {
        JsonNode build = get("/actuator/info").path("build");
        String engine = TlsEngine.AUTO.inUse().word();

        assertThat(build.path("artifact").asString()).isEqualTo(BuildVersion.PROGRAM);
        assertThat(build.path("version").asString()).isEqualTo(BuildVersion.current());
        assertThat(TestCaller.get(gateway.managementPort(), "/actuator/prometheus")
                        .text())
                .contains("weir_build_info{engine=\"" + engine + "\",java=\"" + System.getProperty("java.version")
                        + "\",version=\"" + BuildVersion.current() + "\"} 1");
        assertThat(get("/actuator/weir").path("tlsEngine").asString()).isEqualTo(engine);
    }

    @Test
    void countsInPrometheusTheRequestsOfTheAccessLog() throws Exception {
        for (Door door : Door.values()) {
            String path = door.path("orders", "counted");
            assertThat(TestCaller.get(gateway.port(), path).status()).isEqualTo(200);
            gateway.assertTold(door, "orders", path, 200, "2xx");
        }
        String scrape =
                TestCaller.get(gateway.managementPort(), "/actuator/prometheus").text();
        for (Map.Entry<String, String> each : Map.of(
                        "weir_requests_seconds_count{backend=\"orders\",door=\"compiled\"", "orders-compiled",
                        "weir_requests_seconds_count{backend=\"orders\",door=\"general\"", "orders-general")
                .entrySet()) {
            assertThat(scrape).contains(each.getKey()).contains("route=\"" + each.getValue() + "\"");
        }
        assertThat(scrape)
                .contains("weir_permits_limit{backend=\"orders\"} 7.0")
                .contains("weir_breaker_state{backend=\"orders\",state=\"closed\"} 1.0")
                .contains("resilience4j_circuitbreaker_state{")
                .doesNotContain("/compiled/orders/counted");
    }

    // ---------------------------------------------------------------- helpers

    private static JsonNode get(String path) throws IOException {
        TestCaller.Answer answer = TestCaller.get(gateway.managementPort(), path);
        assertThat(answer.status()).as(path).isEqualTo(200);
        return answer.problem();
    }

    private static TestCaller.Answer post(TestGateway to, String path, String body, @Nullable String token)
            throws IOException {
        try (TestCaller caller = TestCaller.to(to.managementPort())) {
            String authorization = token == null ? "X-None: 1" : "Authorization: Bearer " + token;
            caller.send(TestCaller.head(
                            "POST",
                            path,
                            "Content-Type: application/json",
                            "Content-Length: " + body.length(),
                            authorization)
                    + body);
            return caller.answer();
        }
    }

    private static boolean connects(InetAddress address, int port) {
        try (Socket socket = new Socket(address, port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        }
    }
}
