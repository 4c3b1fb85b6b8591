package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.outcome.Reason;
import io.weir.testing.BackendFault;
import io.weir.testing.BackendFault.Stage;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.Tier;
import io.weir.testing.UnwillingPort;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;

/** Faults of a backend: each has one reason, counts as that backend's failure, and harms no other backend. */
class BackendFaultsIT {

    private static final String BACKEND = "orders";
    private static final String HEAD = "HTTP/1.1 200 OK\r\n";
    /** Two routes to one backend: deadlines that pass before the answer begins, and within the answer. */
    private static final String LATE = "late";

    private static final String BEGINNING = "beginning";

    /** The caller has received the beginning of the answer. */
    private static final Semaphore BEGUN = new Semaphore(0);

    private static TestBackend backend;
    private static UnwillingPort refusing;
    private static UnwillingPort silent;
    private static TestGateway gateway;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        refusing = UnwillingPort.refusing();
        silent = UnwillingPort.silent();
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend(BACKEND, backend.uri(), "deadline: 20s", "recovery: { probe-interval: 60s }")
                .backend(
                        LATE,
                        backend.uri(),
                        "deadline: 800ms",
                        "circuit-breaker: { slow-call-duration-threshold: 400ms }")
                .backend(
                        BEGINNING,
                        backend.uri(),
                        "deadline: 1s",
                        "circuit-breaker: { slow-call-duration-threshold: 500ms }")
                .backend("refusing", refusing.uri())
                .backend("silent", silent.uri(), "connection: { connect-timeout: 50ms }")
                .route(BACKEND, BACKEND)
                .route(LATE, LATE)
                .route(BEGINNING, BEGINNING)
                .filtered("broken", BACKEND, "\"AddResponseHeader=X-Broken, a\\u0001b\"")
                .route("refusing", "refusing")
                .route("silent", "silent")
                .start();
    }

    @BeforeEach
    void calm() {
        gateway.calm();
    }

    @AfterEach
    void nothingIsHeld() {
        gateway.assertNothingHeld();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
        refusing.close();
        silent.close();
    }

    // ---------------------------------------------------------------- faults before the answer begins

    static Stream<Arguments> before() {
        return throughEachDoor(BackendFault.of(Stage.BEFORE_ANSWER));
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("before")
    void refusesTheCallerBeforeTheAnswerBegins(BackendFault fault, Door door) throws IOException {
        backend.behave(fault.behaviour(HEAD, BEGUN));
        assertRefusedAndRecorded(door, fault.name(), fault.reason());
    }

    @Door.Any
    void refusesTheCallerIfTheBackendUpgradesWithoutARequest(Door door) throws IOException {
        backend.behave((request, conversation) -> conversation.write(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: nonsense\r\nConnection: Upgrade\r\n\r\n"));
        assertRefusedAndRecorded(door, "upgrade", Reason.CONNECTION_LOST);
    }

    private static void assertRefusedAndRecorded(Door door, String name, Reason reason) throws IOException {
        boolean late = reason == Reason.DEADLINE_EXCEEDED;
        String route = late ? LATE : BACKEND;
        String path = door.path(route, name);

        TestCaller.Answer answer = TestCaller.get(gateway.port(), path);

        int status = late ? 504 : 502;
        assertRefused(answer, status, reason.word(), late ? "http_response_timeout" : "connection_terminated");
        gateway.assertTold(door, route, path, status, reason.word());
        gateway.assertFed(route, 1, 1, late ? 1 : 0);
        gateway.assertNeighbourUnharmed();
        await().atMost(TestGateway.PATIENCE).until(() -> backend.connections() == 0);
    }

    @Door.Any
    void refusesWithConnectFailedIfThePortIsClosed(Door door) throws IOException {
        String path = door.path("refusing", "1");

        TestCaller.Answer answer = TestCaller.get(gateway.port(), path);

        assertRefused(answer, 502, "connect-failed", "connection_refused");
        assertThat(answer.text()).doesNotContain("127.0.0.1");
        JsonNode line = gateway.assertTold(door, "refusing", path, 502, "connect-failed");
        assertThat(line.path("detail").asString()).contains("refused");
        // A request that was not sent is tried once more.
        gateway.assertFed("refusing", 2, 2, 0);
        gateway.assertNeighbourUnharmed();
    }

    @Door.Any
    void refusesWithConnectTimeoutIfTheHandshakeIsNotAnswered(Door door) throws IOException {
        String path = door.path("silent", "1");

        TestCaller.Answer answer = TestCaller.get(gateway.port(), path);

        assertRefused(answer, 504, "connect-timeout", "connection_timeout");
        gateway.assertTold(door, "silent", path, 504, "connect-timeout");
        gateway.assertFed("silent", 1, 1, 0);
        gateway.assertNeighbourUnharmed();
    }

    // ---------------------------------------------------------------- faults within the answer

    static Stream<Arguments> amid() {
        return throughEachDoor(BackendFault.of(Stage.AMID_ANSWER));
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("amid")
    void resetsTheCallersConnectionWithinTheAnswer(BackendFault fault, Door door) throws IOException {
        backend.behave(fault.behaviour(HEAD, BEGUN));
        BEGUN.drainPermits();
        boolean late = fault.isLate();
        String route = late ? BEGINNING : BACKEND;
        String path = door.path(route, fault.name());

        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", path));
            assertThat(caller.readHead().status()).isEqualTo(200);
            BEGUN.release();
            assertThat(caller.isReset()).as("connection reset").isTrue();
        }

        gateway.assertTold(door, route, path, 200, fault.reason().word());
        gateway.assertFed(route, 1, 1, late ? 1 : 0);
        gateway.assertNeighbourUnharmed();
        await().atMost(TestGateway.PATIENCE).until(() -> backend.connections() == 0);
    }

    // ---------------------------------------------------------------- the backend's own errors

    @Door.Any
    void forwardsErrorsUnchangedUntilTheBreakerOpens(Door door) throws IOException {
        backend.behave((request, conversation) -> conversation.write("HTTP/1.1 503 Tired\r\nX-Why: tired\r\n"
                + "Retry-After: 7\r\nContent-Type: text/tired\r\nContent-Length: 6\r\n\r\nsleepy"));
        String path = door.path(BACKEND, "storm");
        int asked = 0;
        TestCaller.Answer answer;
        do {
            answer = TestCaller.get(gateway.port(), path);
            asked++;
            if (answer.reason().isEmpty()) {
                assertThat(answer.status()).isEqualTo(503);
                assertThat(answer.text()).isEqualTo("sleepy");
                assertThat(answer.header("x-why")).isEqualTo("tired");
                assertThat(answer.header("retry-after")).isEqualTo("7");
                assertThat(answer.header("content-type")).isEqualTo("text/tired");
                assertThat(answer.header("proxy-status")).isNull();
            }
        } while (answer.reason().isEmpty() && asked < 100);

        // The default minimum-number-of-calls is 20.
        assertThat(asked).isEqualTo(21);
        assertThat(gateway.backend(BACKEND).health().state()).isEqualTo(State.OPEN);
        assertRefused(answer, 503, "circuit-open", "destination_unavailable");
        assertThat(Integer.parseInt(answer.header("retry-after"))).isBetween(1, 30);
        assertThat(answer.problem().path("retry-after-ms").asInt()).isBetween(1_000, 30_000);
        assertThat(backend.requests()).isGreaterThanOrEqualTo(20);
        await().atMost(TestGateway.PATIENCE)
                .untilAsserted(() -> assertThat(gateway.lines(path).stream()
                                .map(line -> line.path("outcome").asString())
                                .toList())
                        // The calls end on several event loops, in any order.
                        .containsExactlyInAnyOrderElementsOf(
                                Stream.concat(Stream.generate(() -> "5xx").limit(20), Stream.of("circuit-open"))
                                        .toList()));
        gateway.assertMetered(door.id(BACKEND), "5xx");
        gateway.assertMetered(door.id(BACKEND), "circuit-open");
        gateway.assertNeighbourUnharmed();
    }

    @Door.Any
    void countsNoOtherStatusAsFailure(Door door) throws IOException {
        for (int status : new int[] {201, 302, 400, 401, 404, 409, 422, 429, 499, 501, 505, 599}) {
            backend.behave((request, conversation) -> conversation.answer(status, "its own"));
            TestCaller.Answer answer = TestCaller.get(gateway.port(), door.path(BACKEND, "status-" + status));
            assertThat(answer.status()).isEqualTo(status);
            assertThat(answer.text()).isEqualTo("its own");
            gateway.assertTold(door, BACKEND, door.path(BACKEND, "status-" + status), status, status / 100 + "xx");
        }
        gateway.assertFed(BACKEND, 12, 0, 0);
    }

    // ---------------------------------------------------------------- valid answers

    @Door.Each
    void dropsInformationalAnswers(Door door) throws IOException {
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n");
            conversation.write("HTTP/1.1 102 Processing\r\n\r\n");
            conversation.write("HTTP/1.1 100 Continue\r\n\r\n");
            conversation.answer(200, "final");
        });
        String path = door.path(BACKEND, "early");

        try (TestCaller caller = TestCaller.to(gateway.port())) {
            for (int i = 0; i < 2; i++) {
                TestCaller.Answer answer = caller.request("GET", path + i);
                assertThat(answer.status()).isEqualTo(200);
                assertThat(answer.text()).isEqualTo("final");
                assertThat(answer.header("link")).isNull();
                gateway.assertTold(door, BACKEND, path + i, 200, "2xx");
            }
        }
        gateway.assertFed(BACKEND, 2, 0, 0);
    }

    @Door.Any
    void forwardsAnAnswerThatEndsWithItsConnection(Door door) throws IOException {
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end");
            conversation.close();
        });
        String path = door.path(BACKEND, "old");

        try (TestCaller caller = TestCaller.to(gateway.port())) {
            for (int i = 0; i < 2; i++) {
                TestCaller.Answer answer = caller.request("GET", path + i);
                assertThat(answer.status()).isEqualTo(200);
                assertThat(answer.header("transfer-encoding")).isEqualTo("chunked");
                assertThat(answer.text()).isEqualTo("until the end");
                gateway.assertTold(door, BACKEND, path + i, 200, "2xx");
            }
        }
        gateway.assertFed(BACKEND, 2, 0, 0);
    }

    @Door.Any
    void usesAnotherConnectionAfterTheBackendHasClosedOne(Door door) throws IOException {
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
            conversation.close();
        });
        // The pool may have connections from earlier tests.
        int used = 1 + backend.connections();
        for (int i = 0; i < used; i++) {
            TestCaller.get(gateway.port(), door.path(BACKEND, "closing"));
        }
        int before = backend.accepted();
        for (int i = 1; i <= 3; i++) {
            TestCaller.Answer answer = TestCaller.get(gateway.port(), door.path(BACKEND, "closing" + i));
            assertThat(answer.text()).isEqualTo("ok");
            assertThat(answer.header("connection")).isNull();
            assertThat(backend.accepted()).isEqualTo(before + i);
        }
        gateway.assertFed(BACKEND, used + 3, 0, 0);
    }

    @Door.Any
    void usesNoConnectionThatTheBackendHasClosedWhenIdle(Door door) throws IOException {
        backend.behave((request, conversation) -> {
            conversation.answer(200, "ok");
            conversation.finish();
        });
        for (int i = 0; i < 5; i++) {
            assertThat(TestCaller.get(gateway.port(), door.path(BACKEND, "closed" + i))
                            .status())
                    .isEqualTo(200);
            // The gateway has noticed the close, and closed the connection too.
            await().atMost(TestGateway.PATIENCE).until(() -> backend.connections() == 0);
        }
        gateway.assertFed(BACKEND, 5, 0, 0);
    }

    @Door.Any
    void reusesItsConnections(Door door) throws IOException {
        backend.behave(TestBackend.ECHO);
        TestCaller.get(gateway.port(), door.path(BACKEND, "first"));
        gateway.assertNothingHeld();
        int before = backend.accepted();
        for (int i = 0; i < 5; i++) {
            TestCaller.get(gateway.port(), door.path(BACKEND, "again" + i));
            gateway.assertNothingHeld();
        }
        assertThat(backend.accepted()).isEqualTo(before);
    }

    @Door.Each
    void forwardsAnswersWithoutABody(Door door) throws IOException {
        backend.behave((request, conversation) -> {
            switch (request.target().replaceAll(".*/", "")) {
                case "204" -> conversation.write("HTTP/1.1 204 No Content\r\nX-Kept: 1\r\n\r\n");
                case "304" ->
                    conversation.write("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nContent-Length: 999\r\n\r\n");
                case "head" -> conversation.write("HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n");
                case "chunked-head" -> conversation.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                default -> conversation.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            }
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestCaller.Answer none = caller.request("GET", door.path(BACKEND, "204"));
            assertThat(none.status()).isEqualTo(204);
            assertThat(none.header("x-kept")).isEqualTo("1");
            assertThat(none.header("content-length")).isNull();
            assertThat(none.header("transfer-encoding")).isNull();

            TestCaller.Answer unchanged = caller.request("GET", door.path(BACKEND, "304"));
            assertThat(unchanged.status()).isEqualTo(304);
            assertThat(unchanged.header("etag")).isEqualTo("\"1\"");
            assertThat(unchanged.header("transfer-encoding")).isNull();

            TestCaller.Answer head = caller.request("HEAD", door.path(BACKEND, "head"));
            assertThat(head.status()).isEqualTo(200);
            assertThat(head.header("content-length")).isEqualTo("12345");

            TestCaller.Answer chunked = caller.request("HEAD", door.path(BACKEND, "chunked-head"));
            assertThat(chunked.status()).isEqualTo(200);

            TestCaller.Answer empty = caller.request("GET", door.path(BACKEND, "empty"));
            assertThat(empty.status()).isEqualTo(200);
            assertThat(empty.header("content-length")).isEqualTo("0");
        }
        gateway.assertFed(BACKEND, 5, 0, 0);
    }

    @Door.Each
    void forwardsAnAnswerThatPrecedesTheRequestsBody(Door door) throws IOException {
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 5\r\n\r\nlarge");
            // The backend reads no more; the gateway closes the connection.
            while (conversation.in().read() >= 0) {
                conversation.in().skip(Long.MAX_VALUE);
            }
        });
        String path = door.path(BACKEND, "early-answer");

        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", path, "Content-Length: 50000000"));
            caller.send(new byte[100_000]);
            TestCaller.Answer answer = caller.answer();
            assertThat(answer.status()).isEqualTo(413);
            assertThat(answer.text()).isEqualTo("large");
            assertThat(answer.header("connection")).isEqualTo("close");
        }
        gateway.assertTold(door, BACKEND, path, 413, "4xx");
        gateway.assertFed(BACKEND, 1, 0, 0);
        await().atMost(TestGateway.PATIENCE).until(() -> backend.connections() == 0);
    }

    @Door.Any
    void forwardsTheBodyOfARequestWhoseConnectionNamesItsFraming(Door door) throws IOException {
        backend.behave((request, conversation) -> conversation.answer(200, "read " + conversation.drain(request)));
        String framing = "Connection: keep-alive, ";
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            for (int i = 0; i < 2; i++) {
                caller.send(TestCaller.head(
                        "POST",
                        door.path(BACKEND, "chunked"),
                        framing + "transfer-encoding",
                        "Transfer-Encoding: chunked"));
                caller.send("5\r\nabcde\r\n0\r\n\r\n");
                assertThat(caller.answer().text()).isEqualTo("read 5");
                caller.send(TestCaller.head(
                        "POST", door.path(BACKEND, "length"), framing + "content-length", "Content-Length: 3"));
                caller.send("abc");
                assertThat(caller.answer().text()).isEqualTo("read 3");
            }
        }
        gateway.assertFed(BACKEND, 4, 0, 0);
    }

    @Door.Each
    void continuesTheUploadDuringTheAnswer(Door door) throws IOException {
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegun\r\n");
            long size = conversation.drain(request);
            String text = "all " + size;
            conversation.write(Integer.toHexString(text.length()) + "\r\n" + text + "\r\n0\r\n\r\n");
        });
        String path = door.path(BACKEND, "both-ways");

        try (TestCaller caller = TestCaller.to(gateway.port())) {
            // More than is read ahead of the permit.
            caller.send(TestCaller.head("POST", path, "Content-Length: 100000"));
            caller.send(new byte[99_997]);
            assertThat(caller.readHead().status()).isEqualTo(200);
            assertThat(caller.chunk()).isEqualTo("begun");
            caller.send("two");
            assertThat(caller.chunk()).isEqualTo("all 100000");
            assertThat(caller.chunk()).isEmpty();
        }
        gateway.assertTold(door, BACKEND, path, 200, "2xx");
        gateway.assertFed(BACKEND, 1, 0, 0);
    }

    // ---------------------------------------------------------------- fixtures

    private static Stream<Arguments> throughEachDoor(List<?> cases) {
        return cases.stream().flatMap(each -> Tier.doors().stream().map(door -> Arguments.of(each, door)));
    }

    // ---------------------------------------------------------------- the gateway's own failures

    /** For a small answer, which has arrived completely by then, and for one that has only begun. */
    @Door.Each
    void doesNotBlameTheBackendForAFailingFilter(Door door) throws IOException {
        for (String framing :
                new String[] {"Content-Length: 4\r\n\r\nfine", "Transfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n"}) {
            backend.behave((request, conversation) -> conversation.write("HTTP/1.1 200 OK\r\n" + framing));
            String path = door.path("broken", framing.substring(0, 3));

            TestCaller.Answer answer = TestCaller.get(gateway.port(), path);

            assertRefused(answer, 500, "internal-error", "proxy_internal_error");
            gateway.assertTold(door, "broken", path, 500, "internal-error");
            gateway.assertNothingHeld();
        }
        assertThat(gateway.backend(BACKEND).health().resilience4j().getMetrics().getNumberOfFailedCalls())
                .isZero();
    }

    private static void assertRefused(TestCaller.Answer answer, int status, String reason, String proxyError) {
        assertThat(answer.status()).isEqualTo(status);
        assertThat(answer.header("content-type")).isEqualTo("application/problem+json");
        assertThat(answer.problem().path("type").asString()).isEqualTo("urn:weir:" + reason);
        assertThat(answer.problem().path("status").asInt()).isEqualTo(status);
        assertThat(answer.header("proxy-status"))
                .isEqualTo("weir; error=" + proxyError + "; details=\"" + reason + "\"");
        assertThat(answer.header("cache-control")).isEqualTo("no-store");
        assertThat(answer.header("x-request-id")).isNotEmpty();
        assertThat(answer.header("retry-after") != null).isEqualTo(status == 503);
    }
}
