package io.weir.management;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.door.LiveRoutes;
import io.weir.reload.ConfigurationChange;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Reloads and changes of limits by an operator, and the endpoint that shows the configuration in force.
 * Tests share a gateway, which begins each with the same configuration, except for the backend's address.
 */
class ManagementReloadIT {

    private static final String TOKEN = "a-token-of-forty-characters-and-then-some";

    /** HTTP/1.1, since the client would offer an upgrade to HTTP/2. */
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    /** They close together, since the first one to close stops the event loops of all. */
    private static final List<TestGateway> GATEWAYS = new ArrayList<>();

    private TestBackend backend;
    private TestGateway gateway;

    @BeforeEach
    void start() {
        backend = TestBackend.healthy();
        if (GATEWAYS.isEmpty()) {
            GATEWAYS.add(TestGateway.start(yaml(4)));
        }
        gateway = GATEWAYS.getFirst();
        gateway.rewrite(yaml(4));
        LiveConfiguration live = gateway.bean(LiveConfiguration.class);
        assertThat(live.reload(ConfigurationChange.Trigger.REQUEST, "a test").problems())
                .isEmpty();
        assertThat(live.release("orders", "a test").isOk()).isTrue();
    }

    @AfterEach
    void stop() {
        gateway.assertNothingHeld();
        backend.close();
        client.close();
    }

    @AfterAll
    static void stopGateways() {
        GATEWAYS.forEach(TestGateway::close);
        GATEWAYS.clear();
    }

    private String yaml(int calls) {
        return """
                weir:
                  management: { token: %s }
                  backends:
                    orders:
                      uri: "%s"
                      bulkhead: { max-concurrent-calls: %d, max-wait-duration: 50ms }
                spring.cloud.gateway.server.webflux.routes:
                  - id: orders
                    uri: backend://orders
                    predicates: [ "Path=/orders/**" ]
                    filters: [ "AddRequestHeader=Authorization, Bearer s3cret" ]
                """.formatted(TOKEN, backend.uri(), calls);
    }

    private HttpResponse<String> post(String path, String body) throws IOException, InterruptedException {
        return send(request(path)
                .header("Authorization", "Bearer " + TOKEN)
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body)));
    }

    private JsonNode get(String path) throws IOException, InterruptedException {
        HttpResponse<String> answer =
                send(request(path).header("Authorization", "Bearer " + TOKEN).GET());
        assertThat(answer.statusCode()).isEqualTo(200);
        return JsonMapper.shared().readTree(answer.body());
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + gateway.managementPort() + path));
    }

    private HttpResponse<String> send(HttpRequest.Builder request) throws IOException, InterruptedException {
        return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private static JsonNode json(HttpResponse<String> answer) {
        return JsonMapper.shared().readTree(answer.body());
    }

    private JsonNode property(JsonNode config, String path) {
        for (JsonNode property : config.path("properties")) {
            if (property.path("path").asString().equals(path)) {
                return property;
            }
        }
        throw new AssertionError(path + " is not among " + config.path("properties"));
    }

    private int limit() {
        return gateway.backend("orders").bulkhead().maxConcurrentCalls();
    }

    @Test
    void reloadsOnRequestAndReturnsTheDifferences() throws Exception {
        gateway.rewrite(yaml(9));
        Instant before = Instant.now();

        HttpResponse<String> answer = post("/actuator/weirreload", "");

        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(Instant.parse(json(answer).path("at").asString())).isBetween(before, Instant.now());
        assertThat(json(answer).path("trigger").asString()).isEqualTo("request");
        assertThat(json(answer).path("by").asString()).startsWith("operator (127.0.0.1:");
        assertThat(json(answer).path("differences")).hasSize(1);
        assertThat(json(answer).at("/differences/0/before").asString()).isEqualTo("4");
        assertThat(json(answer).at("/differences/0/after").asString()).isEqualTo("9");
        assertThat(limit()).isEqualTo(9);
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void returnsEveryProblemAndChangesNothing(CapturedOutput output) throws Exception {
        gateway.rewrite(yaml(0).replace("50ms", "5h"));

        HttpResponse<String> answer = post("/actuator/weirreload", "{}");

        assertThat(answer.statusCode()).isEqualTo(400);
        assertThat(answer.headers().firstValue("Content-Type")).hasValue("application/problem+json");
        assertThat(json(answer).path("status").asInt()).isEqualTo(400);
        assertThat(json(answer).path("problems")).hasSize(2);
        assertThat(limit()).isEqualTo(4);
        assertThat(get("/actuator/weirconfig").at("/refused/problems")).hasSize(2);
        for (JsonNode problem : json(answer).path("problems")) {
            await().untilAsserted(() -> assertThat(output.getAll()).contains(problem.asString()));
        }
    }

    @Test
    void requiresTheToken() throws Exception {
        gateway.rewrite(yaml(9));

        assertThat(send(request("/actuator/weirreload").POST(HttpRequest.BodyPublishers.noBody()))
                        .statusCode())
                .isEqualTo(401);
        assertThat(send(request("/actuator/weirconfig").GET()).statusCode()).isEqualTo(401);
        assertThat(limit()).isEqualTo(4);
    }

    @Test
    void showsTheOriginOfEachValueAndHidesSecrets() throws Exception {
        // Without changes so far.
        gateway = TestGateway.start(yaml(4));
        GATEWAYS.add(gateway);
        JsonNode config = get("/actuator/weirconfig");

        JsonNode written = property(config, "weir.backends.orders.bulkhead.max-concurrent-calls");
        assertThat(written.path("text").asString()).isEqualTo("4");
        assertThat(written.path("origin").asString()).isEqualTo(gateway.file() + ":6");
        JsonNode unset = property(config, "weir.backends.orders.deadline");
        assertThat(unset.path("text").asString()).isEqualTo("2s");
        assertThat(unset.path("origin").asString()).isEqualTo("default");
        assertThat(property(config, "weir.management.token").path("text").asString())
                .isEqualTo("******");
        assertThat(property(config, "spring.cloud.gateway.server.webflux.routes[0].filters[0]")
                        .path("text")
                        .asString())
                .isEqualTo("AddRequestHeader=Authorization, ******");
        assertThat(config.toString()).doesNotContain(TOKEN).doesNotContain("s3cret");
        assertThat(config.path("changes")).isEmpty();
        assertThat(config.path("refused").isNull()).isTrue();

        String hash = config.path("hash").asString();
        assertThat(hash).matches("[0-9a-f]{12}");
        assertThat(get("/actuator/weir").at("/configuration/hash").asString()).isEqualTo(hash);
        assertThat(post("/actuator/weirreload", "").statusCode()).isEqualTo(200);
        assertThat(get("/actuator/weirconfig").path("hash").asString())
                .as("a reload reads the same values as the start")
                .isEqualTo(hash);
    }

    @Test
    void keepsTheLastTenChanges() throws Exception {
        for (int i = 1; i <= 12; i++) {
            gateway.rewrite(yaml(10 + i));
            assertThat(post("/actuator/weirreload", "").statusCode()).isEqualTo(200);
        }

        JsonNode changes = get("/actuator/weirconfig").path("changes");

        assertThat(changes).hasSize(10);
        assertThat(changes.at("/0/differences/0/after").asString()).isEqualTo("22");
        assertThat(changes.at("/9/differences/0/before").asString()).isEqualTo("12");
    }

    @Test
    void hidesAChangedSecret() throws Exception {
        gateway.rewrite(yaml(4).replace("s3cret", "0ther"));

        HttpResponse<String> answer = post("/actuator/weirreload", "");

        assertThat(json(answer).path("differences")).hasSize(1);
        assertThat(answer.body()).doesNotContain("s3cret").doesNotContain("0ther");
        assertThat(TestCaller.get(gateway.port(), "/orders/1").status()).isEqualTo(200);
        assertThat(backend.next().header("authorization")).isEqualTo("Bearer 0ther");
    }

    @Test
    void hidesSecretsInEveryNotation() throws Exception {
        String yaml = yaml(4).replace(
                        "filters: [ ",
                        "filters: [ { name: AddRequestHeader, args: { name: X-Auth, value: s3cret } },"
                                + " \"AddRequestHeader=X-Up, ${UP_TOKEN:s3cret}\", ");
        gateway.rewrite(yaml);
        String added = post("/actuator/weirreload", "").body();
        String config = get("/actuator/weirconfig").toString();
        gateway.rewrite(yaml.replace("s3cret", "0ther"));
        String changed = post("/actuator/weirreload", "").body();

        assertThat(added).contains("filters[0].args.value").doesNotContain("s3cret");
        assertThat(config).contains("filters[0].args.value").doesNotContain("s3cret");
        assertThat(JsonMapper.shared().readTree(changed).path("differences")).hasSize(3);
        assertThat(changed).doesNotContain("s3cret").doesNotContain("0ther");
        assertThat(TestCaller.get(gateway.port(), "/orders/1").status()).isEqualTo(200);
        TestBackend.Request seen = backend.next();
        assertThat(List.of(seen.header("x-auth"), seen.header("x-up"))).containsExactly("0ther", "0ther");
    }

    @Test
    void showsTheValueOfAPlaceholder() throws Exception {
        gateway.rewrite(yaml(4).replace("max-concurrent-calls: 4", "max-concurrent-calls: \"${CALLS:6}\""));
        assertThat(post("/actuator/weirreload", "").statusCode()).isEqualTo(200);

        assertThat(property(get("/actuator/weirconfig"), "weir.backends.orders.bulkhead.max-concurrent-calls")
                        .path("text")
                        .asString())
                .isEqualTo("6");
        assertThat(limit()).isEqualTo(6);
    }

    /** The test starts the gateway with its ports as arguments. */
    @Test
    void showsArgumentsOfTheCommandLineBeforeValuesOfAFile() throws Exception {
        JsonNode config = get("/actuator/weirconfig");

        for (String port : List.of("server.port", "management.server.port")) {
            assertThat(property(config, port).path("text").asString()).isEqualTo("0");
            assertThat(property(config, port).path("origin").asString()).isEqualTo("command line");
        }
    }

    // ---------------------------------------------------------------- operators

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void appliesAnOperatorsLimitUntilItIsReleased(CapturedOutput output) throws Exception {
        HttpResponse<String> changed = post("/actuator/weir/orders", "{\"max-concurrent-calls\":20}");

        assertThat(changed.statusCode()).isEqualTo(200);
        assertThat(json(changed).at("/calls/limit").asInt()).isEqualTo(20);
        JsonNode config = get("/actuator/weirconfig");
        JsonNode limit = property(config, "weir.backends.orders.bulkhead.max-concurrent-calls");
        assertThat(limit.path("text").asString()).isEqualTo("20");
        assertThat(limit.path("origin").asString()).isEqualTo("operator");
        assertThat(config.at("/changes/0/trigger").asString()).isEqualTo("operator");
        assertThat(config.at("/changes/0/by").asString()).startsWith("operator (127.0.0.1:");
        await().untilAsserted(() -> assertThat(output.getAll())
                .contains("Configuration changed by operator (127.0.0.1:")
                .contains("weir.backends.orders.bulkhead.max-concurrent-calls: 4 -> 20"));

        // The second one does not undo the first.
        assertThat(post("/actuator/weir/orders", "{\"deadline\":\"900ms\"}").statusCode())
                .isEqualTo(200);
        assertThat(limit()).isEqualTo(20);
        assertThat(gateway.backend("orders").settings().deadlineNanos()).isEqualTo(900_000_000);

        gateway.rewrite(yaml(5));
        HttpResponse<String> reloaded = post("/actuator/weirreload", "");
        assertThat(json(reloaded).path("differences")).isEmpty();
        assertThat(limit()).isEqualTo(20);
        assertThat(get("/actuator/weir/orders").path("changes")).hasSize(2);

        assertThat(post("/actuator/weir/orders", "{\"limits\":\"released\"}").statusCode())
                .isEqualTo(200);
        assertThat(limit()).isEqualTo(5);
        assertThat(property(get("/actuator/weirconfig"), "weir.backends.orders.bulkhead.max-concurrent-calls")
                        .path("origin")
                        .asString())
                .isEqualTo(gateway.file() + ":6");
    }

    @Test
    void keepsAnOperatorsLimitWithAnEndAcrossAReloadUntilItIsReleased() throws Exception {
        HttpResponse<String> changed =
                post("/actuator/weir/orders", "{\"max-concurrent-calls\":20,\"duration\":\"1h\"}");
        assertThat(changed.statusCode()).isEqualTo(200);
        Instant until = Instant.parse(json(changed).at("/changes/0/until").asString());
        assertThat(until)
                .isBetween(Instant.now().plusSeconds(3_500), Instant.now().plusSeconds(3_601));

        assertThat(post("/actuator/weirreload", "").statusCode()).isEqualTo(200);
        assertThat(limit()).isEqualTo(20);

        assertThat(post("/actuator/weir/orders", "{\"limits\":\"released\"}").statusCode())
                .isEqualTo(200);
        assertThat(limit()).isEqualTo(4);
        assertThat(get("/actuator/weir/orders").path("changes")).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"max-concurrent-calls\":0}|expected: 1 to 1000000",
                "{\"max-concurrent-call\":7}|max-concurrent-call (expected: one of",
                "{\"deadline\":\"20ms\"}|max-wait-duration",
                "{\"uri\":\"http://127.0.0.1:1\"}|uri (expected: one of",
                "{\"bulkhead.max-concurent-calls\":7}|did you mean max-concurrent-calls?",
                "{\"max-concurrent-calls\":8,\"breaker\":\"shut\"}|breaker: shut"
            })
    void rejectsAnInvalidLimit(String body, String why) throws Exception {
        JsonNode changes = get("/actuator/weirconfig").path("changes");

        HttpResponse<String> answer = post("/actuator/weir/orders", body);

        assertThat(answer.statusCode()).isEqualTo(400);
        assertThat(json(answer).path("detail").asString()).contains(why);
        assertThat(limit()).isEqualTo(4);
        assertThat(get("/actuator/weirconfig").path("changes")).isEqualTo(changes);
    }

    @Test
    void answersNotFoundForAnUnknownBackend() throws Exception {
        assertThat(post("/actuator/weir/parcels", "{\"max-concurrent-calls\":8}")
                        .statusCode())
                .isEqualTo(404);
        assertThat(List.copyOf(gateway.bean(LiveRoutes.class).get().backends().keySet()))
                .containsExactly("orders");
    }
}
