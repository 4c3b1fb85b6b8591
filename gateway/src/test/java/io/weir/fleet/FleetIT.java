package io.weir.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.health.Health;
import io.weir.management.RecentEvents;
import io.weir.testing.NameServer;
import io.weir.testing.TestBackend;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Three gateways with one port and an address each: a change of one file concerns one of them. None of them
 * knows its own address, since the machine has no interface with it.
 */
class FleetIT {

    private static final List<String> ADDRESSES = List.of("127.0.0.2", "127.0.0.3", "127.0.0.4");
    /** Nothing listens there. */
    private static final String UNREACHABLE = "127.0.0.9";

    private static final String OPERATOR = "Bearer operator-0123456789";
    private static final String ALICE = "Bearer alice-0123456789";
    private static final String READ_ONLY = "Bearer read-only-0123456789";
    private static final String FORCE_OPEN = "{\"breaker\":\"open\",\"duration\":\"10m\"}";

    @TempDir
    private static Path directory;

    private static final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private static final NameServer dns = new NameServer("gateways.test", ADDRESSES);
    private static final TestBackend backend = TestBackend.healthy();
    private static final List<TestGateway> gateways = new ArrayList<>();
    private static int port;

    private record Answer(int status, JsonNode body) {}

    @BeforeAll
    static void start() throws IOException {
        for (int i = 0; i < ADDRESSES.size(); i++) {
            Path file = Files.writeString(file(i), yaml(8));
            gateways.add(TestGateway.startAt(file, ADDRESSES.get(i), port));
            port = gateways.getFirst().managementPort();
        }
    }

    private static Path file(int gateway) {
        return directory.resolve("gateway-" + gateway + ".yml");
    }

    private static String yaml(int limit) {
        return """
                weir:
                  cluster: { gateways: gateways.test., dns-server: "%s", refresh-interval: 100ms }
                  faults: { enabled: true }
                  management:
                    token: operator-0123456789
                    read-only-token: read-only-0123456789
                    operators: { alice: alice-0123456789 }
                  backends:
                    orders: { uri: "%s", bulkhead: { max-concurrent-calls: %d } }
                    payments: { uri: "%s" }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: orders, uri: "backend://orders", predicates: [ "Path=/orders/**" ] }
                """.formatted(dns.address(), backend.uri(), limit, backend.uri());
    }

    /** All gateways have the same state, and DNS has their addresses. */
    @AfterEach
    void calm() throws Exception {
        resolveTo(ADDRESSES);
        for (int i = 0; i < ADDRESSES.size(); i++) {
            Files.writeString(file(i), yaml(8));
        }
        assertThat(send(0, "POST", "/actuator/weirreload?fleet=true", OPERATOR, "")
                        .status())
                .isEqualTo(200);
        assertThat(send(0, "POST", "/actuator/weir/orders?fleet=true", OPERATOR, "{\"limits\":\"released\"}")
                        .status())
                .isEqualTo(200);
        gateways.forEach(TestGateway::calm);
    }

    @AfterAll
    static void stop() {
        gateways.forEach(TestGateway::close);
        backend.close();
        dns.close();
        client.close();
    }

    // ---------------------------------------------------------------- the view

    @Test
    void showsEachGatewayWithTheStateOfItsBackends() throws Exception {
        assertThat(send(1, "POST", "/actuator/weir/orders", OPERATOR, FORCE_OPEN)
                        .status())
                .isEqualTo(200);

        // The state is that of the last second.
        JsonNode view = await().until(
                        () -> send(0, "GET", "/actuator/weirfleet", READ_ONLY, "")
                                .body(),
                        shown -> shown.at("/gateways/1/backends/0/state")
                                .asString("")
                                .equals("forced-open"));

        assertThat(view.path("gateways")
                        .valueStream()
                        .map(row -> row.path("address").asString("")))
                .containsExactlyElementsOf(ADDRESSES);
        assertThat(view.path("gateways")
                        .valueStream()
                        .map(row -> row.path("self").asBoolean()))
                .containsExactly(true, false, false);
        assertThat(view.path("configurationDiffers").asBoolean()).isFalse();
        assertThat(view.at("/gateways/1/backends")
                        .valueStream()
                        .map(row -> row.path("name").asString()))
                .containsExactly("orders", "payments");
        assertThat(view.at("/gateways/1/backends/0/trouble").asString()).isEqualTo("forced-open");
        assertThat(view.at("/gateways/1/backends/0/limit").asInt()).isEqualTo(8);
        for (JsonNode row : view.path("gateways")) {
            assertThat(row.at("/configuration/hash").asString()).hasSize(12);
            assertThat(row.path("phase").asString()).isEqualTo("serving");
            assertThat(row.has("version")).isTrue();
            assertThat(row.has("startedAt")).isTrue();
            assertThat(row.has("problem")).isFalse();
        }
    }

    @Test
    void namesAGatewayThatIsNotReached() throws Exception {
        resolveTo(List.of(ADDRESSES.get(0), ADDRESSES.get(1), UNREACHABLE));

        JsonNode rows =
                send(0, "GET", "/actuator/weirfleet", READ_ONLY, "").body().path("gateways");

        assertThat(rows.valueStream().map(row -> row.path("problem").asString("")))
                .containsExactly("", "", "connection refused");
    }

    @Test
    void showsThatAConfigurationDiffers() throws Exception {
        Files.writeString(file(2), yaml(9));
        assertThat(send(2, "POST", "/actuator/weirreload", OPERATOR, "").status())
                .isEqualTo(200);

        JsonNode view = send(0, "GET", "/actuator/weirfleet", READ_ONLY, "").body();

        assertThat(view.path("configurationDiffers").asBoolean()).isTrue();
        assertThat(view.path("gateways")
                        .valueStream()
                        .map(row -> row.at("/configuration/hash").asString())
                        .distinct())
                .hasSize(2);
    }

    @Test
    void showsNothingWithoutAToken() throws Exception {
        assertThat(send(0, "GET", "/actuator/weirfleet", "", "").status()).isEqualTo(401);
    }

    // ---------------------------------------------------------------- changes

    @Test
    void changesAllGatewaysOnceAndNamesTheOperatorInEachAudit() throws Exception {
        List<Long> before = gateways.stream().map(FleetIT::lastEvent).toList();

        Answer answer = send(0, "POST", "/actuator/weir/orders?fleet=true", ALICE, FORCE_OPEN);

        assertThat(answer.status()).as("%s", answer).isEqualTo(200);
        assertThat(answer.body()
                        .path("gateways")
                        .valueStream()
                        .map(line -> line.path("address").asString()
                                + ' '
                                + line.path("status").asInt()))
                .containsExactly("127.0.0.2 200", "127.0.0.3 200", "127.0.0.4 200");
        for (int i = 0; i < ADDRESSES.size(); i++) {
            assertThat(state(i)).isEqualTo("forced-open");
            List<RecentEvents.Event> events = eventsSince(i, before.get(i));
            assertThat(events)
                    .as("gateway %d", i)
                    .extracting(RecentEvents.Event::kind)
                    .containsExactly(RecentEvents.Kind.BREAKER_FORCED);
            assertThat(events.getFirst().by())
                    .startsWith("alice (")
                    .matches(i == 0 ? "[^,]*" : ".*, passed on by a gateway\\)");
            assertThat(send(i, "GET", "/actuator/weir/orders", READ_ONLY, "")
                            .body()
                            .at("/changes/0")
                            .hasNonNull("until"))
                    .as("the time to live, gateway %d", i)
                    .isTrue();
        }
    }

    @Test
    void changesTheOthersAndAnswersWithAnErrorIfOneIsNotReached() throws Exception {
        resolveTo(List.of(ADDRESSES.get(0), ADDRESSES.get(1), UNREACHABLE));

        Answer answer = send(0, "POST", "/actuator/weir/orders?fleet=true", OPERATOR, "{\"max-concurrent-calls\":3}");

        assertThat(answer.status()).isEqualTo(502);
        assertThat(answer.body().path("detail").asString())
                .isEqualTo("1 of 3 gateways did not confirm the change: 127.0.0.9: connection refused");
        assertThat(List.of(limit(0), limit(1), limit(2))).containsExactly(3, 3, 8);
    }

    @Test
    void asksNoOtherGatewayIfThisOneRefuses() throws Exception {
        List<Long> before = gateways.stream().map(FleetIT::lastEvent).toList();

        Answer unknown = send(0, "POST", "/actuator/weir/nowhere?fleet=true", OPERATOR, FORCE_OPEN);
        Answer wrong = send(0, "POST", "/actuator/weir/orders?fleet=true", OPERATOR, "{\"max-concurrent-calls\":0}");
        Answer malformed = send(0, "POST", "/actuator/weir/orders?fleet=true", OPERATOR, "{");

        assertThat(unknown).isEqualTo(send(0, "POST", "/actuator/weir/nowhere", OPERATOR, FORCE_OPEN));
        assertThat(unknown.status()).isEqualTo(404);
        assertThat(wrong.status()).isEqualTo(400);
        assertThat(wrong.body().path("detail").asString()).contains("max-concurrent-calls");
        assertThat(malformed.status()).isEqualTo(400);
        assertThat(eventsSince(1, before.get(1))).isEmpty();
        assertThat(eventsSince(2, before.get(2))).isEmpty();
    }

    @Test
    void refusesAReadOnlyTokenAndAForeignOriginBeforeAnyGatewayIsAsked() throws Exception {
        assertThat(send(0, "POST", "/actuator/weir/orders?fleet=true", READ_ONLY, FORCE_OPEN)
                        .status())
                .isEqualTo(403);
        assertThat(send(0, "POST", "/actuator/weir/orders?fleet=true", "", FORCE_OPEN)
                        .status())
                .isEqualTo(401);
        assertThat(client.send(
                                request(0, "POST", "/actuator/weir/orders?fleet=true", OPERATOR, FORCE_OPEN)
                                        .header("Origin", "http://evil.example")
                                        .build(),
                                BodyHandlers.ofString())
                        .statusCode())
                .isEqualTo(403);
        for (int i = 0; i < ADDRESSES.size(); i++) {
            assertThat(state(i)).isEqualTo("closed");
        }
    }

    @Test
    void passesARequestOnOnlyOnce() throws Exception {
        HttpRequest passedOn = request(0, "POST", "/actuator/weir/orders?fleet=true", OPERATOR, FORCE_OPEN)
                .header("weir-passed-on-by", "0123456789abcdef")
                .build();

        assertThat(client.send(passedOn, BodyHandlers.ofString()).statusCode()).isEqualTo(200);

        assertThat(List.of(state(0), state(1), state(2))).containsExactly("forced-open", "closed", "closed");
    }

    /** The number of a fault is of one gateway. */
    @Test
    void startsAndEndsFaultsOnAllGateways() throws Exception {
        String fault = "{\"backend\":\"orders\",\"fault\":\"hang\",\"duration\":\"5m\"}";

        assertThat(send(0, "POST", "/actuator/weirfaults?fleet=true", OPERATOR, fault)
                        .status())
                .isEqualTo(200);
        assertThat(List.of(faults(0), faults(1), faults(2))).containsExactly(1, 1, 1);
        assertThat(send(0, "DELETE", "/actuator/weirfaults/1?fleet=true", OPERATOR, "")
                        .status())
                .isEqualTo(400);
        assertThat(send(0, "DELETE", "/actuator/weirfaults?fleet=true", OPERATOR, "")
                        .status())
                .isEqualTo(200);
        assertThat(List.of(faults(0), faults(1), faults(2))).containsExactly(0, 0, 0);
    }

    // ---------------------------------------------------------------- helpers

    private static void resolveTo(List<String> addresses) {
        dns.resolveTo(addresses.toArray(String[]::new));
        await().until(() -> send(0, "GET", "/actuator/weirfleet", READ_ONLY, "")
                .body()
                .path("gateways")
                .valueStream()
                .map(row -> row.path("address").asString(""))
                .toList()
                .equals(addresses));
    }

    private static HttpRequest.Builder request(int gateway, String method, String path, String token, String body) {
        HttpRequest.Builder request = HttpRequest.newBuilder(
                        URI.create("http://" + ADDRESSES.get(gateway) + ':' + port + path))
                .header("Content-Type", "application/json")
                .method(method, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
        return token.isEmpty() ? request : request.header("Authorization", token);
    }

    private static Answer send(int gateway, String method, String path, String token, String body) throws Exception {
        HttpResponse<String> answer =
                client.send(request(gateway, method, path, token, body).build(), BodyHandlers.ofString());
        return new Answer(
                answer.statusCode(), JsonMapper.shared().readTree(answer.body().isEmpty() ? "{}" : answer.body()));
    }

    private static String state(int gateway) {
        Health health = gateways.get(gateway).backend("orders").health();
        return health.word();
    }

    private static int limit(int gateway) {
        return gateways.get(gateway).backend("orders").bulkhead().maxConcurrentCalls();
    }

    private static int faults(int gateway) throws Exception {
        return send(gateway, "GET", "/actuator/weirfaults", READ_ONLY, "")
                .body()
                .path("faults")
                .size();
    }

    private static long lastEvent(TestGateway gateway) {
        return gateway.bean(RecentEvents.class).last().stream()
                .mapToLong(RecentEvents.Event::number)
                .max()
                .orElse(0);
    }

    private static List<RecentEvents.Event> eventsSince(int gateway, long number) {
        return gateways.get(gateway).bean(RecentEvents.class).last().stream()
                .filter(event -> event.number() > number)
                .toList();
    }
}
