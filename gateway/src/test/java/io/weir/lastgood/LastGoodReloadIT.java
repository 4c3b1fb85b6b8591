package io.weir.lastgood;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.HeldCalls;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

/** What a reload keeps of the last good answers, and how an operator removes them. */
class LastGoodReloadIT {

    private static final String KEPT = "last-good: { max-age: 10m }";
    private static TestBackend backend;
    private static TestGateway gateway;

    private final HeldCalls calls = new HeldCalls();

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.start(yaml("orders", KEPT));
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    @BeforeEach
    void begin() throws IOException {
        backend.behave(TestBackend.ECHO);
        reloaded(yaml("orders", KEPT));
        store().empty(null);
        get();
        awaitStored(1);
    }

    @AfterEach
    void end() {
        calls.release();
        gateway.assertNothingHeld();
        await().atMost(TestGateway.PATIENCE).until(() -> store().recordingBytes() == 0);
    }

    private static String yaml(String to, String... ofRoute) {
        return """
                weir:
                  backends:
                    orders: { uri: "%1$s", deadline: 60s }
                    others: { uri: "%1$s", deadline: 60s }
                  routes:
                    orders: { priority: normal, %3$s }
                    unused: { %4$s }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: orders, uri: "backend://%2$s", predicates: ["Path=/compiled/orders/**"] }
                  - { id: unused, uri: "backend://others", predicates: ["Path=/unused/**"] }
                  - { id: unused-too, uri: "backend://orders", predicates: ["Path=/unused-too/**"] }
                """.formatted(backend.uri(), to, String.join(", ", ofRoute), KEPT);
    }

    @Test
    void aReloadKeepsTheAnswersWhateverElseOfTheRouteChanges() throws IOException {
        reloaded(yaml("orders", "last-good: { max-age: 5m, max-answer: 1KB }", "deadline: 1s"));
        assertThat(known()).isTrue();
    }

    @Test
    void aRouteThatLosesThePropertyLosesItsAnswers() throws IOException {
        reloaded(yaml("orders"));
        assertThat(store().entries()).isZero();
        assertThat(known()).isFalse();
        reloaded(yaml("orders", KEPT));
        assertThat(known()).isFalse();
    }

    @Test
    void aRouteThatChangesItsKeyOrItsBackendLosesItsAnswers() throws IOException {
        reloaded(yaml("orders", "last-good: { key-headers: [ Accept-Language ] }"));
        assertThat(store().entries()).isZero();
        assertThat(known()).isFalse();
        calm();
        get();
        awaitStored(1);
        reloaded(yaml("orders", "last-good: { key-headers: [ accept-language ] }"));
        assertThat(known()).isTrue();
        calm();
        reloaded(yaml("others", "last-good: { key-headers: [ accept-language ] }"));
        assertThat(store().entries()).isZero();
    }

    @Test
    void aRefusedReloadChangesNothing() throws IOException {
        gateway.rewrite(yaml("orders", "last-good: { max-age: 0s }"));
        assertThat(gateway.bean(LiveConfiguration.class)
                        .reload(Trigger.REQUEST, "a test")
                        .problems())
                .isNotEmpty();
        assertThat(known()).isTrue();
    }

    /** The call began with the old key. Its answer must not be found by the new one, nor stay in memory. */
    @Test
    void anAnswerThatIsUnderWayDuringTheChangeIsNotKept() throws Exception {
        backend.behave(calls);
        CompletableFuture<TestCaller.Answer> underWay =
                TestCaller.ask(gateway.port(), Door.COMPILED.path("orders", "1"));
        HeldCalls.Held held = calls.next();
        reloaded(yaml("orders", "last-good: { key-headers: [ accept-language ] }"));
        held.answer();
        assertThat(underWay.join().status()).isEqualTo(200);
        gateway.assertNothingHeld();
        await().until(() -> store().recordingBytes() == 0);
        assertThat(known()).isFalse();
        assertThat(store().entries()).isZero();
    }

    @Test
    void anAnswerThatIsUnderWayDuringAnotherChangeIsKept() throws Exception {
        store().empty(null);
        backend.behave(calls);
        CompletableFuture<TestCaller.Answer> underWay =
                TestCaller.ask(gateway.port(), Door.COMPILED.path("orders", "1"));
        HeldCalls.Held held = calls.next();
        reloaded(yaml("orders", "last-good: { max-age: 5m }"));
        held.answer();
        assertThat(underWay.join().status()).isEqualTo(200);
        awaitStored(1);
        assertThat(known()).isTrue();
    }

    // ---------------------------------------------------------------- operators

    @Test
    void anOperatorSeesHowManyThereAreAndRemovesThem() throws Exception {
        JsonMapper json = JsonMapper.shared();
        assertThat(json.readTree(send("GET", "").body()).path("entries").asInt())
                .isOne();
        assertThat(json.readTree(send("GET", "").body()).path("maxBytes").asInt())
                .isEqualTo(32 << 20);
        assertThat(send("DELETE", "/nothing").statusCode()).isEqualTo(404);
        assertThat(send("DELETE", "/unused").body()).isEqualTo("{\"removed\":0}");
        assertThat(send("DELETE", "/orders").body()).isEqualTo("{\"removed\":1}");
        assertThat(known()).isFalse();
        calm();
        get();
        awaitStored(1);
        assertThat(send("DELETE", "").body()).isEqualTo("{\"removed\":1}");
        assertThat(store().bytes()).isZero();
        assertThat(known()).isFalse();
    }

    private static HttpResponse<String> send(String method, String rest) throws Exception {
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(
                    HttpRequest.newBuilder(URI.create(
                                    "http://127.0.0.1:" + gateway.managementPort() + "/actuator/weirlastgood" + rest))
                            .method(method, HttpRequest.BodyPublishers.noBody())
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
        }
    }

    // ---------------------------------------------------------------- fixtures

    private static TestCaller.Answer get() throws IOException {
        return TestCaller.get(gateway.port(), Door.COMPILED.path("orders", "1"));
    }

    /** Whether the request gets a last good answer while the backend is not asked. */
    private static boolean known() throws IOException {
        gateway.backend("orders").health().operator().forceOpen();
        gateway.backend("others").health().operator().forceOpen();
        try {
            TestCaller.Answer answer = get();
            assertThat(answer.status()).isIn(200, 503);
            return answer.status() == 200;
        } finally {
            calm();
        }
    }

    private static void calm() {
        gateway.calm();
    }

    private static void reloaded(String yaml) {
        gateway.rewrite(yaml);
        assertThat(gateway.bean(LiveConfiguration.class)
                        .reload(Trigger.REQUEST, "a test")
                        .problems())
                .isEmpty();
    }

    private static LastGoodStore store() {
        return gateway.bean(LastGoodStore.class);
    }

    private static void awaitStored(long entries) {
        await().atMost(TestGateway.PATIENCE)
                .untilAsserted(() -> assertThat(store().entries()).isEqualTo(entries));
    }
}
