package io.weir.engine;

import static io.weir.testing.Patience.PATIENCE;
import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.outcome.Reason;
import io.weir.testing.BackendFault;
import io.weir.testing.BackendFault.Stage;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestWebSocket;
import io.weir.testing.Tier;
import java.io.IOException;
import java.net.SocketException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;

/**
 * If a backend refuses a WebSocket, its answer is passed on and recorded like any other answer, complete or
 * broken off.
 */
@ExtendWith(Leaks.class)
class RefusedWebSocketIT {

    private static final String BACKEND = "orders";
    private static final String BRIEF = "brief";

    /** Larger than an aggregated answer, and than Reactor Netty's buffer for a handshake's answer. */
    private static final int LARGE = 300_000;

    private static final String HEAD = "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\n";

    /** Released when the caller has received the beginning of its answer. */
    private static final Semaphore BEGUN = new Semaphore(0);

    private static TestBackend backend;
    private static TestGateway gateway;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend(BACKEND, backend.uri(), "deadline: 20s")
                .backend(
                        BRIEF,
                        backend.uri(),
                        "deadline: 1s",
                        "circuit-breaker: { slow-call-duration-threshold: 500ms }")
                .backend("hasty", backend.uri(), "deadline: 20s", "connection: { connect-timeout: 250ms }")
                .route(BACKEND, BACKEND)
                .route("hasty", "hasty")
                .route(BRIEF, BRIEF)
                .route("retried", BACKEND, "retry: { max-attempts: 2, backoff: 0s, statuses: [503] }")
                .filtered("filtered", BACKEND, "\"SetResponseHeader=X-A, a\", \"RemoveResponseHeader=X-C\"")
                .start();
    }

    @BeforeEach
    void reset() {
        gateway.calm();
        BEGUN.drainPermits();
    }

    @AfterEach
    void assertNothingHeld() throws IOException {
        gateway.assertNothingHeld();
        gateway.assertNeighbourUnharmed();
        // A handshake is always the last request of its connection.
        await().until(() -> backend.connections() == 0);
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    private static TestCaller.Answer ask(String path) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.ask(caller, path);
            return caller.answer();
        }
    }

    // ---------------------------------------------------------------- complete answers

    /** The gateway adds only the date and itself: no {@code Server-Timing} by default. */
    @Door.Each
    void passesOnASmallAnswer(Door door) throws IOException {
        backend.behave((request, conversation) -> conversation.write(HEAD
                + "WWW-Authenticate: Basic realm=shop\r\nX-Multi: one\r\nX-Multi: two\r\n"
                + "Content-Length: 16\r\n\r\n{\"why\":\"log in\"}"));
        String path = door.path(BACKEND, "small");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.ask(caller, path, "X-Request-Id: " + path);
            TestCaller.Answer answer = caller.answer();

            assertThat(answer.status()).isEqualTo(401);
            assertThat(answer.header("date")).isNotNull();
            Map<String, String> others = new HashMap<>(answer.headers());
            others.remove("date");
            assertThat(others)
                    .isEqualTo(Map.of(
                            "www-authenticate", "Basic realm=shop",
                            "x-multi", "one, two",
                            "content-type", "application/json",
                            "content-length", "16",
                            "via", "1.1 weir",
                            "x-request-id", path));
            assertThat(answer.text()).isEqualTo("{\"why\":\"log in\"}");
            // The caller's connection is reusable.
            TestWebSocket.ask(caller, path + "/next");
            assertThat(caller.answer().text()).isEqualTo("{\"why\":\"log in\"}");
        }
        assertThat(gateway.assertTold(door, BACKEND, path, 401, "4xx")
                        .path("bytes")
                        .asInt())
                .isEqualTo(16);
        gateway.assertFed(BACKEND, 2, 0, 0);
    }

    @Door.Each
    void passesOnALargeAnswer(Door door) throws IOException {
        backend.behave((request, conversation) ->
                conversation.write(HEAD + "Content-Length: " + LARGE + "\r\n\r\n" + "x".repeat(LARGE)));
        String path = door.path(BACKEND, "large");

        assertThat(ask(path).text()).isEqualTo("x".repeat(LARGE));

        assertThat(gateway.assertTold(door, BACKEND, path, 401, "4xx")
                        .path("bytes")
                        .asInt())
                .isEqualTo(LARGE);
        gateway.assertFed(BACKEND, 1, 0, 0);
    }

    @Door.Each
    void passesOnChunksAtOnceAndTrailers(Door door) throws IOException {
        backend.behave((request, conversation) -> {
            conversation.write(HEAD + "Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n3\r\nlog\r\n");
            BEGUN.acquire();
            conversation.write("3\r\n in\r\n0\r\nX-T: t\r\n\r\n");
        });
        String path = door.path(BACKEND, "chunks");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.ask(caller, path);
            assertThat(caller.readHead().status()).isEqualTo(401);
            assertThat(caller.chunk()).isEqualTo("log");
            BEGUN.release();
            assertThat(caller.chunk()).isEqualTo(" in");
            assertThat(caller.chunk()).isEmpty();
            assertThat(caller.line()).isEqualToIgnoringCase("X-T: t");
        }
        gateway.assertTold(door, BACKEND, path, 401, "4xx");
        gateway.assertFed(BACKEND, 1, 0, 0);
    }

    @Door.Each
    void passesOnAnAnswerThatEndsWithItsConnection(Door door) throws IOException {
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.0 401 Unauthorized\r\n\r\nuntil the end");
            conversation.close();
        });
        String path = door.path(BACKEND, "old");

        assertThat(ask(path).text()).isEqualTo("until the end");

        gateway.assertTold(door, BACKEND, path, 401, "4xx");
        gateway.assertFed(BACKEND, 1, 0, 0);
    }

    @Door.Each
    void passesOnAnAnswerWithoutABody(Door door) throws IOException {
        for (String answered :
                List.of("403 Forbidden\r\nContent-Length: 0", "204 None", "304 As Before\r\nETag: \"1\"")) {
            backend.behave((request, conversation) -> conversation.write("HTTP/1.1 " + answered + "\r\n\r\n"));
            int status = Integer.parseInt(answered.substring(0, 3));
            String path = door.path(BACKEND, "empty-" + status);

            TestCaller.Answer answer = ask(path);

            assertThat(answer.status()).isEqualTo(status);
            assertThat(answer.text()).isEmpty();
            gateway.assertTold(door, BACKEND, path, status, status / 100 + "xx");
        }
        gateway.assertFed(BACKEND, 3, 0, 0);
    }

    @Door.Each
    void dropsInformationalAnswers(Door door) throws IOException {
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n");
            conversation.write("HTTP/1.1 100 Continue\r\n\r\n");
            conversation.answer(401, "log in");
        });

        assertThat(ask(door.path(BACKEND, "early")).text()).isEqualTo("log in");
    }

    @Door.Each
    void reportsAFailureStatusToTheBreaker(Door door) throws IOException {
        backend.behave((request, conversation) -> conversation.answer(503, "tired"));
        String path = door.path(BACKEND, "failure");

        assertThat(ask(path).text()).isEqualTo("tired");

        gateway.assertTold(door, BACKEND, path, 503, "5xx");
        gateway.assertFed(BACKEND, 1, 1, 0);
    }

    @Door.Each
    void appliesResponseFilters(Door door) throws IOException {
        backend.behave((request, conversation) ->
                conversation.write("HTTP/1.1 401 Unauthorized\r\nX-C: c\r\nContent-Length: 6\r\n\r\nlog in"));

        TestCaller.Answer answer = ask(door.path("filtered", "1"));

        assertThat(answer.header("x-a")).isEqualTo("a");
        assertThat(answer.header("x-c")).isNull();
        assertThat(answer.text()).isEqualTo("log in");
    }

    @Door.Each
    void isRetriedOnARouteWithRetries(Door door) throws Exception {
        AtomicInteger asked = new AtomicInteger();
        backend.behave((request, conversation) -> {
            if (asked.incrementAndGet() == 1) {
                conversation.answer(503, "tired");
            } else {
                TestWebSocket.accept(request, conversation).next();
            }
        });
        String path = door.path("retried", "1");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.open(caller, path).close(1000, "");
        }
        assertThat(gateway.assertTold(door, "retried", path, 101, "1xx")
                        .path("attempts")
                        .asInt())
                .isEqualTo(2);
    }

    // ---------------------------------------------------------------- failures before the answer

    static Stream<Arguments> before() {
        return onEachDoor(BackendFault.of(Stage.BEFORE_ANSWER));
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("before")
    void refusesIfTheBackendFailsBeforeItsAnswerBegins(BackendFault fault, Door door) throws IOException {
        backend.behave(fault.behaviour(HEAD, BEGUN));
        assertIsRefused(door, fault.name(), fault.reason());
    }

    @Door.Each
    void refusesIfTheBackendAcceptsWithAWrongKey(Door door) throws IOException {
        backend.behave((request, conversation) -> conversation.write("HTTP/1.1 101 Switching Protocols\r\n"
                + "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: none\r\n\r\n"));
        assertIsRefused(door, "key", Reason.CONNECTION_LOST);
    }

    private static void assertIsRefused(Door door, String name, Reason reason) throws IOException {
        boolean late = reason == Reason.DEADLINE_EXCEEDED;
        String route = late ? BRIEF : BACKEND;
        String path = door.path(route, name);

        assertRefused(gateway, door, route, path, ask(path), reason);

        gateway.assertFed(route, 1, 1, late ? 1 : 0);
    }

    // ---------------------------------------------------------------- broken answers

    static Stream<Arguments> amid() {
        return onEachDoor(BackendFault.of(Stage.AMID_ANSWER));
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("amid")
    void resetsTheCallersConnectionIfTheBackendFailsAfterItsAnswerBegan(BackendFault fault, Door door)
            throws IOException {
        backend.behave(fault.behaviour(HEAD, BEGUN));
        boolean late = fault.isLate();
        String route = late ? BRIEF : BACKEND;
        String path = door.path(route, fault.name());
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.ask(caller, path);
            assertThat(caller.readHead().status()).isEqualTo(401);
            BEGUN.release();
            assertThat(caller.isReset()).as("broken off with a RST").isTrue();
        }
        gateway.assertTold(door, route, path, 401, fault.reason().word());
        gateway.assertFed(route, 1, 1, late ? 1 : 0);
    }

    /** The backend has opened no WebSocket, so it receives no frame. */
    @Door.Each
    void closesTheBackendsConnectionIfTheCallerLeaves(Door door) throws Exception {
        BlockingQueue<String> received = new LinkedBlockingQueue<>();
        backend.behave((request, conversation) -> {
            conversation.write(HEAD + "Content-Length: 100000\r\n\r\nabc");
            try {
                received.add(conversation.in().read() < 0 ? "the end" : "a byte");
            } catch (SocketException e) {
                received.add("the end");
            }
        });
        String path = door.path(BACKEND, "left");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.ask(caller, path);
            assertThat(caller.readHead().status()).isEqualTo(401);
            assertThat(caller.in().readNBytes(3)).hasSize(3);
            caller.reset();
        }
        assertThat(received.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isEqualTo("the end");
        JsonNode line = gateway.assertTold(door, BACKEND, path, 499, "client-closed");
        assertThat(line.path("bytes").asInt()).isEqualTo(3);
        gateway.assertFed(BACKEND, 0, 0, 0);
    }

    /** The connect time-out of 250 ms ends with the connection. */
    @Door.Each
    void waitsForAnAnswerLongerThanTheConnectTimeout(Door door) throws Exception {
        backend.behave((request, conversation) -> {
            Thread.sleep(600);
            TestWebSocket.accept(request, conversation).next();
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.open(caller, door.path("hasty", "slow")).close(1000, "");
        }
    }

    private static Stream<Arguments> onEachDoor(List<?> cases) {
        return cases.stream().flatMap(each -> Tier.doors().stream().map(door -> Arguments.of(each, door)));
    }
}
