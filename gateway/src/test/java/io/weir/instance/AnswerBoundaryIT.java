package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.testing.Door;
import io.weir.testing.OneBackendTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.Tier;
import java.io.IOException;
import java.util.concurrent.Semaphore;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What a backend sends beyond an answer never becomes another caller's answer, and is no evidence against it.
 */
class AnswerBoundaryIT extends OneBackendTests {

    private static final String ORDERS = "orders";
    private static final int ROUNDS = 20;

    /** The text of an uploaded file that looks like an answer. */
    private static final String FORGED = "HTTP/1.1 302 Found\r\nLocation: https://attacker.test/\r\n"
            + "Set-Cookie: session=stolen\r\nContent-Length: 0\r\n\r\n";

    /**
     * A backend's answer with more than the answer.
     *
     * @param method the method of the request
     * @param answer the answer without what is too much
     * @param status the status that the caller of this request gets
     */
    private record Excess(String name, String method, String answer, int status) {

        @Override
        public String toString() {
            return name;
        }
    }

    private static final Stream<Excess> EXCESSES = Stream.of(
            new Excess("HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: " + FORGED.length() + "\r\n\r\n", 200),
            new Excess("HEAD, chunked", "HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 200),
            new Excess("204", "GET", "HTTP/1.1 204 No Content\r\n\r\n", 204),
            new Excess("204 to DELETE", "DELETE", "HTTP/1.1 204 No Content\r\n\r\n", 204),
            new Excess("204 to POST", "POST", "HTTP/1.1 204 No Content\r\n\r\n", 204),
            new Excess("304", "GET", "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n", 304),
            new Excess("200 with length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200),
            new Excess("200 without body", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200),
            new Excess(
                    "200, chunked",
                    "GET",
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
                    200),
            new Excess(
                    "100 and 200",
                    "GET",
                    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                    200));

    /** A whole answer, its beginning, what is no answer, and bytes that a decoder may skip. */
    private static final String[] TOO_MUCH = {FORGED, "HTTP/1.1 200 O", "null", "\r\n"};

    private static final Semaphore LATE = new Semaphore(0);

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend(ORDERS, backend.uri())
                .route(ORDERS, ORDERS)
                .start();
    }

    @BeforeEach
    void calm() {
        gateway.calm();
    }

    static Stream<Arguments> excesses() {
        return EXCESSES.flatMap(excess -> Tier.doors().stream()
                .flatMap(door -> Stream.of(TOO_MUCH).map(bytes -> Arguments.of(excess, bytes, door))));
    }

    private static long violations(Violations.Kind kind) {
        return (long) gateway.bean(MeterRegistry.class)
                .get("weir.backend.violations")
                .tags("backend", ORDERS, "kind", kind.word())
                .functionCounter()
                .count();
    }

    @ParameterizedTest(name = "{0}, {1}, {2}")
    @MethodSource("excesses")
    void keepsWhatComesWithAnAnswerFromTheNextCaller(Excess excess, String bytes, Door door) throws IOException {
        backend.behave((request, conversation) -> {
            if (request.target().endsWith("/victim")) {
                conversation.answer(200, request.target());
            } else {
                conversation.write(excess.answer + bytes);
            }
        });
        long before = violations(Violations.Kind.BYTES_AFTER_ANSWER);

        for (int i = 0; i < ROUNDS; i++) {
            assertThat(request(excess.method, door).status()).isEqualTo(excess.status);
            assertVictimServed(door);
        }

        assertThat(violations(Violations.Kind.BYTES_AFTER_ANSWER)).isEqualTo(before + ROUNDS);
        gateway.assertFed(ORDERS, 2 * ROUNDS, 0, 0);
    }

    @Door.Any
    void closesAnIdleConnectionOnWhichBytesArrive(Door door) throws IOException {
        backend.behave((request, conversation) -> {
            conversation.answer(200, request.target());
            if (!request.target().endsWith("/victim")) {
                LATE.acquire();
                conversation.write(FORGED);
            }
        });
        long before = violations(Violations.Kind.BYTES_WITHOUT_REQUEST);

        assertThat(request("GET", door).status()).isEqualTo(200);
        LATE.release();
        await().atMost(TestGateway.PATIENCE).until(() -> backend.connections() == 0);

        assertVictimServed(door);
        assertThat(violations(Violations.Kind.BYTES_WITHOUT_REQUEST)).isEqualTo(before + 1);
        gateway.assertFed(ORDERS, 2, 0, 0);
    }

    private static TestCaller.Answer request(String method, Door door) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(method + " " + door.path(ORDERS, "file") + " HTTP/1.1\r\nHost: weir.test\r\n"
                    + (method.equals("POST") ? "Content-Length: 0\r\n" : "") + "\r\n");
            return caller.answer(method.equals("HEAD"));
        }
    }

    private static void assertVictimServed(Door door) throws IOException {
        TestCaller.Answer answer = get(door, ORDERS, "victim");

        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.text()).endsWith("/victim");
        assertThat(answer.headers()).doesNotContainKeys("location", "set-cookie");
    }
}
