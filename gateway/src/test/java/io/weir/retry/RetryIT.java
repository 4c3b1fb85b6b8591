package io.weir.retry;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.GatewayTests;
import io.weir.testing.HeldCalls;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.UnwillingPort;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/**
 * Retries: only of requests that may be sent twice, within the deadline and the backend's budget; each
 * attempt has a permit of its own.
 */
class RetryIT extends GatewayTests {

    private static final String GENEROUS = "retry-budget: { share: 100, floor: 1000 }";
    private static final String NEVER_OPENS =
            "circuit-breaker: { minimum-number-of-calls: 1000, sliding-window-size: 1000 }";

    private static final TestBackend.Behaviour TIRED =
            (request, conversation) -> conversation.answer(503, "its own fault");

    private static UnwillingPort refusing;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        refusing = UnwillingPort.refusing();
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend("orders", backend.uri(), "deadline: 60s", GENEROUS, NEVER_OPENS)
                .backend(
                        "single",
                        backend.uri(),
                        "deadline: 60s",
                        "bulkhead: { max-concurrent-calls: 1, queue-capacity: 0 }",
                        GENEROUS,
                        NEVER_OPENS)
                .backend(
                        "fragile",
                        backend.uri(),
                        "deadline: 60s",
                        GENEROUS,
                        "circuit-breaker: { minimum-number-of-calls: 3, sliding-window-size: 3 }",
                        "recovery: { probe-interval: 60s }")
                .backend("shared", backend.uri(), "deadline: 60s", "retry-budget: { share: 20, floor: 0 }", NEVER_OPENS)
                .backend("frugal", backend.uri(), "deadline: 60s", "retry-budget: { share: 0, floor: 0 }", NEVER_OPENS)
                .backend("refusing", refusing.uri(), "deadline: 60s", GENEROUS, NEVER_OPENS)
                .route("orders", "orders", "retry: { max-attempts: 3, backoff: 0s }")
                .route("timed", "orders", "retry: { max-attempts: 2, backoff: 0s, attempt-timeout: 800ms }")
                .route("single", "single", "retry: { max-attempts: 2, backoff: 500ms }")
                .route("fragile", "fragile", "retry: { max-attempts: 10, backoff: 0s }")
                .route("shared", "shared", "retry: { max-attempts: 2, backoff: 0s }")
                .route("frugal", "frugal", "retry: { max-attempts: 2, backoff: 0s }")
                .route("refusing", "refusing", "retry: { max-attempts: 3, backoff: 0s }")
                .route("plain", "refusing")
                .start();
    }

    @AfterAll
    static void stopOthers() {
        refusing.close();
    }

    // ---------------------------------------------------------------- retried requests

    @ParameterizedTest(name = "{0}, {1}")
    @CsvSource({
        "COMPILED, GET",
        "COMPILED, HEAD",
        "COMPILED, OPTIONS",
        "COMPILED, PUT",
        "COMPILED, DELETE",
        "GENERAL, GET",
        "GENERAL, HEAD",
        "GENERAL, OPTIONS",
        "GENERAL, PUT",
        "GENERAL, DELETE"
    })
    void retriesAnIdempotentRequest(Door door, String method) throws IOException {
        AtomicInteger asked = failing(1, (request, conversation) -> conversation.reset());
        String path = door.path("orders", method);

        TestCaller.Answer answer = ask(method, path);

        assertThat(answer.status()).isEqualTo(200);
        assertThat(asked.get()).isEqualTo(2);
        assertThat(attempts(door, "orders", path, 200, "2xx")).isEqualTo(2);
        gateway.assertFed("orders", 2, 1, 0);
    }

    @Door.Any
    void retriesAConfiguredStatusAndForwardsTheLastAnswer(Door door) throws IOException {
        AtomicInteger asked = failing(100, TIRED);
        String path = door.path("orders", "tired");

        TestCaller.Answer answer = TestCaller.get(gateway.port(), path);

        assertThat(answer.status()).isEqualTo(503);
        assertThat(answer.text()).isEqualTo("its own fault");
        assertThat(answer.header("proxy-status")).isNull();
        assertThat(asked.get()).isEqualTo(3);
        assertThat(attempts(door, "orders", path, 503, "5xx")).isEqualTo(3);
        gateway.assertFed("orders", 3, 3, 0);
    }

    @Door.Any
    void doesNotRetryOtherStatuses(Door door) throws IOException {
        for (int status : new int[] {404, 429, 500}) {
            AtomicInteger asked = failing(100, (request, conversation) -> conversation.answer(status, ""));
            String path = door.path("orders", "status-" + status);
            assertThat(TestCaller.get(gateway.port(), path).status()).isEqualTo(status);
            assertThat(asked.get()).isEqualTo(1);
        }
    }

    @ParameterizedTest(name = "{0}, {1}")
    @CsvSource({"COMPILED, POST", "COMPILED, PATCH", "GENERAL, POST", "GENERAL, PATCH"})
    void doesNotRetryANonIdempotentRequest(Door door, String method) throws IOException {
        AtomicInteger asked = failing(100, (request, conversation) -> conversation.reset());
        String path = door.path("orders", method);

        TestCaller.Answer answer = ask(method, path);

        assertRefused(answer, Reason.CONNECTION_LOST);
        assertThat(asked.get()).isEqualTo(1);
        assertThat(attempts(door, "orders", path, 502, "connection-lost")).isEqualTo(1);
    }

    @Door.Any
    void retriesARequestThatWasNotSent(Door door) throws IOException {
        String path = door.path("refusing", "unsent");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", path, "Content-Length: 4") + "body");

            TestCaller.Answer answer = caller.answer();

            assertRefused(answer, Reason.CONNECT_FAILED);
        }
        assertThat(attempts(door, "refusing", path, 502, "connect-failed")).isEqualTo(3);
        gateway.assertFed("refusing", 3, 3, 0);
    }

    @Door.Any
    void doesNotRetryARequestWithABody(Door door) throws IOException {
        AtomicInteger asked = failing(100, (request, conversation) -> {
            conversation.drain(request);
            conversation.reset();
        });
        String path = door.path("orders", "with-a-body");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("PUT", path, "Content-Length: 4") + "body");
            assertRefused(caller.answer(), Reason.CONNECTION_LOST);
        }
        assertThat(asked.get()).isEqualTo(1);
        assertThat(attempts(door, "orders", path, 502, "connection-lost")).isEqualTo(1);
    }

    @Door.Any
    void doesNotRetryAfterTheAnswerHasBegun(Door door) throws Exception {
        AtomicInteger asked = failing(100, (request, conversation) -> {
            conversation.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
            calls.serve(request, conversation);
        });
        String path = door.path("orders", "begun");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", path));
            assertThat(caller.readHead().status()).isEqualTo(200);
            assertThat(caller.chunk()).isEqualTo("abc");
            calls.next().then((request, conversation) -> conversation.reset());
            assertThat(caller.isReset()).isTrue();
        }
        assertThat(asked.get()).isEqualTo(1);
        assertThat(attempts(door, "orders", path, 200, "connection-lost")).isEqualTo(1);
    }

    // ---------------------------------------------------------------- bounds

    @Door.Any
    void limitsEachAttemptByTheAttemptTimeout(Door door) throws Exception {
        String path = door.path("timed", "hangs-once");
        CompletableFuture<TestCaller.Answer> answer = TestCaller.ask(gateway.port(), path);
        calls.next();
        calls.next().answer();

        assertThat(answer.join().status()).isEqualTo(200);
        JsonNode line = gateway.assertTold(door, "timed", path, 200, "2xx");
        assertThat(line.path("attempts").asInt()).isEqualTo(2);
        assertThat(line.path("backend_ms").asDouble()).isGreaterThanOrEqualTo(800);
        gateway.assertFed("orders", 2, 1, 0);
    }

    @Door.Any
    void leavesItsPermitToOthersDuringTheBackoff(Door door) throws Exception {
        AtomicInteger asked = failing(1, TIRED);
        String path = door.path("single", "first");
        CompletableFuture<TestCaller.Answer> answer = TestCaller.ask(gateway.port(), path);
        await().until(() ->
                asked.get() >= 1 && gateway.backend("single").bulkhead().inUse() == 0);

        assertThat(TestCaller.get(gateway.port(), door.path("single", "second")).status())
                .isEqualTo(200);

        assertThat(asked.get()).as("the second call came between the attempts").isEqualTo(2);
        assertThat(answer.join().status()).isEqualTo(200);
        assertThat(attempts(door, "single", path, 200, "2xx")).isEqualTo(2);
    }

    @Door.Any
    void passesTheAnswerOnIfThereIsNoPermitForTheRetry(Door door) throws Exception {
        CountDownLatch tired = new CountDownLatch(1);
        backend.behave((request, conversation) -> {
            if (request.target().endsWith("tired-first")) {
                TIRED.serve(request, conversation);
                tired.countDown();
            } else {
                calls.serve(request, conversation);
            }
        });
        String path = door.path("single", "tired-first");
        CompletableFuture<TestCaller.Answer> answer = TestCaller.ask(gateway.port(), path);
        tired.await();
        await().until(() -> gateway.backend("single").bulkhead().inUse() == 0);
        CompletableFuture<TestCaller.Answer> occupant = TestCaller.ask(gateway.port(), door.path("single", "occupies"));
        HeldCalls.Held held = calls.next();

        assertThat(answer.join().status()).isEqualTo(503);
        assertThat(answer.join().text()).isEqualTo("its own fault");
        assertThat(attempts(door, "single", path, 503, "5xx")).isEqualTo(1);
        held.answer();
        assertThat(occupant.join().status()).isEqualTo(200);
    }

    @Door.Each
    void reusesTheConnectionOfARetriedAnswer(Door door) throws IOException {
        String large = "x".repeat(20_000);
        AtomicInteger asked = new AtomicInteger();
        backend.behave((request, conversation) -> {
            switch (asked.incrementAndGet() % 3) {
                case 1 -> conversation.answer(503, large);
                case 2 ->
                    conversation.write("HTTP/1.1 503 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
                default -> TestBackend.ECHO.serve(request, conversation);
            }
        });
        int before = backend.accepted();
        for (int i = 0; i < 5; i++) {
            assertThat(TestCaller.get(gateway.port(), door.path("orders", "drained"))
                            .status())
                    .isEqualTo(200);
        }
        assertThat(asked.get()).isEqualTo(15);
        // An attempt may begin before the connection of the one before it is free: each of a call's three
        // attempts has at most one. Without a reuse, the ten refused attempts would need ten.
        assertThat(backend.accepted() - before).as("new connections").isLessThanOrEqualTo(3);
    }

    @Door.Any
    void waitsAsLongAsTheBackendAsksFor(Door door) throws IOException {
        List<Long> askedAt = new CopyOnWriteArrayList<>();
        failing(1, (request, conversation) -> {
            askedAt.add(System.nanoTime());
            conversation.write("HTTP/1.1 503 X\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n");
        });
        TestCaller.Answer answer = TestCaller.get(gateway.port(), door.path("orders", "later"));

        assertThat(answer.status()).isEqualTo(200);
        assertThat(System.nanoTime() - askedAt.getFirst()).isGreaterThanOrEqualTo(TimeUnit.SECONDS.toNanos(1));
    }

    /** Nothing was sent, so that a second attempt is safe for any method, and needs no policy. */
    @Door.Any
    void triesAnUnsentRequestOnceMoreWithoutAPolicy(Door door) throws IOException {
        String path = door.path("plain", "unsent");
        assertRefused(TestCaller.get(gateway.port(), path), Reason.CONNECT_FAILED);
        assertThat(attempts(door, "plain", path, 502, "connect-failed")).isEqualTo(2);
        gateway.assertFed("refusing", 2, 2, 0);
    }

    @Door.Any
    void doesNotRetryTheGatewaysOwnRefusals(Door door) throws Exception {
        CompletableFuture<TestCaller.Answer> occupant = TestCaller.ask(gateway.port(), door.path("single", "occupies"));
        HeldCalls.Held held = calls.next();
        double before = retries("single", "allowed") + retries("single", "denied");
        String path = door.path("single", "full");

        TestCaller.Answer refused = TestCaller.get(gateway.port(), path);

        JsonNode line = assertRefused(gateway, door, "single", path, refused, Reason.BULKHEAD_FULL);
        assertThat(line.path("attempts").asInt()).isZero();
        assertThat(retries("single", "allowed") + retries("single", "denied")).isEqualTo(before);
        held.answer();
        assertThat(occupant.join().status()).isEqualTo(200);
    }

    @Door.Any
    void stopsWhenTheBreakerOpens(Door door) throws IOException {
        AtomicInteger asked = failing(100, TIRED);
        String path = door.path("fragile", "opens");

        TestCaller.Answer answer = TestCaller.get(gateway.port(), path);

        assertThat(answer.status()).isEqualTo(503);
        assertThat(answer.text()).as("the result of the last attempt").isEqualTo("its own fault");
        assertThat(attempts(door, "fragile", path, 503, "5xx")).isEqualTo(3);
        assertThat(asked.get()).isEqualTo(3);
        assertThat(gateway.backend("fragile").health().state()).isEqualTo(State.OPEN);
    }

    @Door.Any
    void addsAtMostTheBudgetsShare(Door door) throws IOException {
        AtomicInteger asked = failing(1000, TIRED);
        double allowed = retries("shared", "allowed");
        double denied = retries("shared", "denied");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            for (int i = 0; i < 50; i++) {
                assertThat(caller.request("GET", door.path("shared", "storm")).status())
                        .isEqualTo(503);
            }
        }
        // 20 percent of 50.
        assertThat(asked.get()).isEqualTo(60);
        assertThat(retries("shared", "allowed") - allowed).isEqualTo(10);
        assertThat(retries("shared", "denied") - denied).isEqualTo(40);
    }

    @Door.Any
    void doesNotRetryWithoutABudget(Door door) throws IOException {
        AtomicInteger asked = failing(100, TIRED);
        double denied = retries("frugal", "denied");
        String path = door.path("frugal", "none");

        assertThat(TestCaller.get(gateway.port(), path).status()).isEqualTo(503);

        assertThat(asked.get()).isEqualTo(1);
        assertThat(attempts(door, "frugal", path, 503, "5xx")).isEqualTo(1);
        assertThat(retries("frugal", "denied") - denied).isEqualTo(1);
    }

    // ---------------------------------------------------------------- fixtures

    /**
     * Makes the backend fail a number of requests and echo the others; returns the count of received
     * requests.
     */
    private static AtomicInteger failing(int times, TestBackend.Behaviour failure) {
        AtomicInteger asked = new AtomicInteger();
        backend.behave((request, conversation) -> {
            if (asked.incrementAndGet() <= times) {
                failure.serve(request, conversation);
            } else if (request.method().equals("HEAD")) {
                conversation.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n");
            } else {
                TestBackend.ECHO.serve(request, conversation);
            }
        });
        return asked;
    }

    private static TestCaller.Answer ask(String method, String path) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            return caller.request(method, path);
        }
    }

    private static int attempts(Door door, String route, String path, int status, String outcome) {
        return gateway.assertTold(door, route, path, status, outcome)
                .path("attempts")
                .asInt();
    }

    private static double retries(String name, String verdict) {
        return gateway.bean(MeterRegistry.class)
                .get("weir.retries")
                .tags("backend", name, "verdict", verdict)
                .counter()
                .count();
    }
}
