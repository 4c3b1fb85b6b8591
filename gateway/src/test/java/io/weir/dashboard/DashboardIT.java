package io.weir.dashboard;

import static io.weir.dashboard.TestDashboard.post;
import static io.weir.dashboard.TestDashboard.reload;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.reload.ConfigurationChange;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.MissingNode;

/** The dashboard's page and streams on the management port. */
class DashboardIT {

    private static final String TOKEN = "0123456789abcdef0123";

    private static TestBackend backend;
    private static TestGateway gateway;
    private static TestGateway guarded;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .backend("orders", backend.uri(), "deadline: 30s", "bulkhead: { max-concurrent-calls: 7 }")
                .route("orders", "orders")
                .start();
        guarded = TestGateway.setup()
                .weir("management: { token: " + TOKEN + " }")
                .backend("orders", backend.uri())
                .route("orders", "orders")
                .start();
    }

    @AfterEach
    void waitForTheStreamsToEnd() {
        await().untilAsserted(
                        () -> assertThat(gateway.bean(LiveFeed.class).clients()).isZero());
    }

    @AfterAll
    static void stop() {
        guarded.close();
        gateway.close();
        backend.close();
    }

    private static JsonNode find(JsonNode view, String name) {
        return view.path("backends")
                .valueStream()
                .filter(backend -> backend.path("name").asString().equals(name))
                .findFirst()
                .orElseThrow();
    }

    // ---------------------------------------------------------------- the stream

    @Test
    void sendsTheFullStateFirstAndThenASnapshotEachSecond() throws Exception {
        try (TestStream stream = new TestStream(gateway.managementPort(), "/actuator/weirstream")) {
            assertThat(stream.header("content-type")).startsWith("text/event-stream");
            assertThat(stream.header("cache-control")).isEqualTo("no-store, no-transform");
            Map.Entry<String, JsonNode> first = stream.next();
            assertThat(first.getKey()).isEqualTo("full");
            assertThat(first.getValue().at("/vocabulary/circuit-open").asString())
                    .isEqualTo("shed");
            for (String figure : List.of("ended", "trouble", "limit", "active", "limitChange")) {
                assertThat(first.getValue().at("/history/orders/" + figure).size())
                        .as(figure)
                        .isEqualTo(120);
            }
            assertThat(first.getValue().at("/history/orders/limit/119").asInt()).isEqualTo(7);
            assertThat(find(first.getValue(), "orders").at("/now/calls/limit").asInt())
                    .isEqualTo(7);
            Map.Entry<String, JsonNode> second = stream.next();
            assertThat(second.getKey()).isEqualTo("snapshot");
            assertThat(second.getValue().has("vocabulary")).isFalse();
            assertThat(second.getValue().path("startedAt"))
                    .isEqualTo(first.getValue().path("startedAt"));
        }
    }

    @Test
    void countsRequestsOfBothDoorsByOutcome() throws Exception {
        try (TestStream stream =
                new TestStream(gateway.managementPort(), "/actuator/weirstream", "Accept-Encoding", "gzip")) {
            long before = find(stream.next().getValue(), "orders")
                    .at("/recent/outcomes/2xx")
                    .asLong();
            for (Door door : Door.values()) {
                assertThat(TestCaller.get(gateway.port(), door.path("orders", "live"))
                                .status())
                        .isEqualTo(200);
            }
            JsonNode recent;
            do {
                recent = find(stream.next().getValue(), "orders").path("recent");
            } while (recent.at("/outcomes/2xx").asLong() < before + 2);
            assertThat(recent.at("/troubleShare").asDouble()).isZero();
            assertThat(recent.at("/times/p50Ms").asDouble()).isPositive();
            assertThat(recent.at("/times/p995Ms").asDouble())
                    .isGreaterThanOrEqualTo(recent.at("/times/p50Ms").asDouble());
            assertThat(recent.at("/budgetLeftMs").asDouble()).isBetween(0.001, 30_000.0);
            assertThat(recent.at("/amplification").asDouble()).isEqualTo(1);
        }
    }

    @Test
    void showsAnOperatorsChangesToOtherClients() throws Exception {
        try (TestStream stream = new TestStream(gateway.managementPort(), "/actuator/weirstream")) {
            assertThat(post(gateway, "{\"breaker\":\"open\"}")).isEqualTo(200);
            assertThat(post(gateway, "{\"breaker\":\"released\"}")).isEqualTo(200);
            assertThat(post(gateway, "{\"max-concurrent-calls\":9}")).isEqualTo(200);
            JsonNode snapshot = awaitSnapshot(
                    stream,
                    each -> event(each, "limit-changed").isObject()
                            && binding(each).equals("operator"));
            assertThat(event(snapshot, "breaker-forced").path("backend").asString())
                    .isEqualTo("orders");
            assertThat(event(snapshot, "breaker-forced").path("by").asString()).startsWith("127.0.0.1:");
            assertThat(event(snapshot, "breaker-released").isObject()).isTrue();
            JsonNode changed = event(snapshot, "limit-changed");
            assertThat(changed.path("backend").asString()).isEqualTo("orders");
            assertThat(changed.path("text").asString()).contains("max-concurrent-calls: 7 -> 9");

            assertThat(post(gateway, "{\"max-concurrent-calls\":\"auto\"}")).isEqualTo(200);
            awaitSnapshot(stream, each -> binding(each).equals("auto"));
            assertThat(reload(gateway).problems()).isEmpty();
            stream.next();
            assertThat(binding(stream.next().getValue()))
                    .as("a reload keeps it")
                    .isEqualTo("auto");
            assertThat(post(gateway, "{\"limits\":\"released\"}")).isEqualTo(200);
            awaitSnapshot(stream, each -> binding(each).equals("fixed"));
        }
        try (TestStream stream = new TestStream(gateway.managementPort(), "/actuator/weirstream")) {
            assertThat(stream.next()
                            .getValue()
                            .at("/history/orders/limitChange")
                            .valueStream()
                            .map(JsonNode::asString)
                            .filter(word -> !word.isEmpty()))
                    .containsSubsequence("operator", "operator-ended", "configuration");
        }
        assertThat(gateway.backend("orders").health().state()).isEqualTo(State.CLOSED);
    }

    @Test
    void showsEveryProblemOfARefusedFileUntilAValidOneIsApplied() throws Exception {
        String valid = Files.readString(gateway.file());
        try (TestStream stream = new TestStream(gateway.managementPort(), "/actuator/weirstream")) {
            JsonNode first = stream.next().getValue();
            assertThat(first.has("refused")).isTrue();
            assertThat(first.path("refused").isNull()).isTrue();

            gateway.rewrite(valid.replace(
                    "max-concurrent-calls: 7",
                    "max-concurrent-calls: 0, queue-capacity: -1, max-wait-duration: soon, scope: town, colour: blue"));
            ConfigurationChange change = reload(gateway);
            assertThat(change.problems()).hasSize(5);
            JsonNode refused;
            do {
                refused = stream.next().getValue().path("refused");
            } while (refused.isNull());
            assertThat(refused.path("at").asLong()).isEqualTo(change.at().toEpochMilli());
            assertThat(refused.path("by").asString()).isEqualTo("an operator");
            assertThat(refused.path("problems").valueStream().map(JsonNode::asString))
                    .containsExactlyElementsOf(change.problems());
        } finally {
            gateway.rewrite(valid);
            assertThat(reload(gateway).problems()).isEmpty();
        }
        // The first event of a new client no longer has it, at most a second later.
        await().until(() -> {
            try (TestStream stream = new TestStream(gateway.managementPort(), "/actuator/weirstream")) {
                return stream.next().getValue().path("refused").isNull();
            }
        });
    }

    private static JsonNode awaitSnapshot(TestStream stream, Predicate<JsonNode> condition) throws IOException {
        JsonNode snapshot = stream.next().getValue();
        for (int i = 1; i < 20 && !condition.test(snapshot); i++) {
            snapshot = stream.next().getValue();
        }
        assertThat(condition.test(snapshot)).as("the last of 20: %s", snapshot).isTrue();
        return snapshot;
    }

    /** What determines the limit of backend {@code orders}. */
    private static String binding(JsonNode snapshot) {
        return find(snapshot, "orders").at("/now/limit/binds").asString();
    }

    /** The latest event of this kind, among the last events of a snapshot. */
    private static JsonNode event(JsonNode snapshot, String kind) {
        return snapshot.path("happenings")
                .valueStream()
                .filter(event -> event.path("kind").asString().equals(kind))
                .findFirst()
                .orElseGet(MissingNode::getInstance);
    }

    // ---------------------------------------------------------------- access

    @Test
    void servesThePageWithoutAndTheDataOnlyWithTheToken() throws Exception {
        List<String> paths = new ArrayList<>(List.of("/dashboard", "/dashboard/dashboard.css"));
        DashboardConfiguration.SCRIPTS.forEach(script -> paths.add("/dashboard/" + script));
        for (String path : paths) {
            TestCaller.Answer page = TestCaller.get(guarded.managementPort(), path);
            assertThat(page.status()).as(path).isEqualTo(200);
            assertThat(page.header("content-security-policy")).startsWith("default-src 'none'; script-src 'self'");
            assertThat(page.header("x-content-type-options")).isEqualTo("nosniff");
            assertThat(page.text()).doesNotContain("{{").doesNotContainPattern("https?://(?!www\\.w3\\.org/2000/svg)");
        }
        for (String path : List.of("/actuator/weirstream", "/hystrix.stream", "/dashboard/", "/dashboard/x")) {
            assertThat(TestCaller.get(guarded.managementPort(), path).status())
                    .as(path)
                    .isEqualTo(401);
        }
        try (TestStream stream =
                new TestStream(guarded.managementPort(), "/actuator/weirstream", "Authorization", "Bearer " + TOKEN)) {
            assertThat(stream.next().getKey()).isEqualTo("full");
        }
        assertThat(TestCaller.get(gateway.port(), "/dashboard").status()).isEqualTo(404);
    }

    @Test
    void rejectsChangesFromAnotherOrigin() throws Exception {
        String own = "http://127.0.0.1:" + gateway.managementPort();
        assertThat(post(gateway, "{\"breaker\":\"open\"}", "Origin", "http://evil.example"))
                .isEqualTo(403);
        assertThat(post(gateway, "{\"breaker\":\"open\"}", "Origin", own, "Sec-Fetch-Site", "cross-site"))
                .isEqualTo(403);
        assertThat(gateway.backend("orders").health().state()).isEqualTo(State.CLOSED);
        assertThat(post(
                        guarded,
                        "{\"breaker\":\"open\"}",
                        "Origin",
                        "http://evil.example",
                        "Authorization",
                        "Bearer " + TOKEN))
                .isEqualTo(403);
        assertThat(guarded.backend("orders").health().state()).isEqualTo(State.CLOSED);

        assertThat(post(gateway, "{\"breaker\":\"released\"}", "Origin", own, "Sec-Fetch-Site", "same-origin"))
                .isEqualTo(200);
    }
}
