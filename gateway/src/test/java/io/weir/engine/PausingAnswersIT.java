package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.ExtendWith;

/** While the backend pauses, the caller gets the part of the answer that the backend has sent. */
@ExtendWith(Leaks.class)
class PausingAnswersIT {

    private static final String BACKEND = "orders";
    private static final String STREAM = "events";
    private static final String RETRIED = "retried";

    private static TestBackend backend;
    private static TestGateway gateway;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .backend(BACKEND, backend.uri(), "deadline: 20s")
                .route(BACKEND, BACKEND)
                .route(STREAM, BACKEND, "mode: stream")
                .route(RETRIED, BACKEND, "retry: { max-attempts: 2, backoff: 0s, statuses: [503] }")
                .start();
    }

    @AfterEach
    void assertNothingHeld() {
        gateway.assertNothingHeld();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    /** Sends the parts of an answer, each after the caller has received the one before. */
    private static Semaphore answerInParts(String... parts) {
        Semaphore received = new Semaphore(0);
        backend.behave((request, conversation) -> {
            for (String part : parts) {
                conversation.write(part);
                received.acquire();
            }
        });
        return received;
    }

    private static String read(TestCaller caller, int bytes) throws Exception {
        return new String(caller.in().readNBytes(bytes), StandardCharsets.US_ASCII);
    }

    @Door.Each
    void passesOnTheHeadAndEachPartOfASmallAnswer(Door door) throws Exception {
        Semaphore received =
                answerInParts("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nX-A: b\r\n\r\n", "one", "two", "end");
        String path = door.path(BACKEND, "small");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            for (int i = 0; i < 2; i++) {
                caller.send(TestCaller.head("GET", path));
                TestCaller.Answer head = caller.readHead();
                assertThat(head.status()).isEqualTo(200);
                assertThat(head.header("content-length")).isEqualTo("9");
                assertThat(head.header("x-a")).isEqualTo("b");
                for (String part : new String[] {"one", "two", "end"}) {
                    received.release();
                    assertThat(read(caller, 3)).isEqualTo(part);
                }
                received.release();
            }
        }
        gateway.assertMetered(door.id(BACKEND), "2xx");
    }

    @Door.Each
    void passesOnTheHeadOfAStreamBeforeItsFirstByte(Door door) throws Exception {
        Semaphore received = answerInParts(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n",
                "5\r\nhello\r\n0\r\n\r\n");
        for (String route : new String[] {BACKEND, STREAM}) {
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                caller.send(TestCaller.head("GET", door.path(route, "sse")));
                assertThat(caller.readHead().status()).isEqualTo(200);
                received.release();
                assertThat(caller.chunk()).isEqualTo("hello");
                assertThat(caller.chunk()).isEmpty();
                received.release();
            }
        }
    }

    @Door.Each
    void breaksOffASmallAnswerWhoseBackendBreaksOff(Door door) throws Exception {
        Semaphore received = new Semaphore(0);
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\none");
            received.acquire();
            conversation.reset();
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", door.path(BACKEND, "broken")));
            assertThat(caller.readHead().status()).isEqualTo(200);
            assertThat(read(caller, 3)).isEqualTo("one");
            received.release();
            assertThat(caller.isReset()).isTrue();
        }
        gateway.assertTold(door, BACKEND, door.path(BACKEND, "broken"), 200, "connection-lost");
    }

    /** The answer to the first attempt is drained, so a pause of its backend passes nothing on. */
    @Door.Each
    void retriesIfTheBackendPausesInAnAnswerThatIsRetried(Door door) throws Exception {
        AtomicInteger asked = new AtomicInteger();
        Semaphore answered = new Semaphore(0);
        backend.behave((request, conversation) -> {
            if (asked.incrementAndGet() == 1) {
                conversation.write("HTTP/1.1 503 X\r\nContent-Length: 9\r\n\r\none");
                answered.acquire();
            } else {
                conversation.answer(200, "fine");
            }
        });
        TestCaller.Answer answer = TestCaller.get(gateway.port(), door.path(RETRIED, "pausing"));
        answered.release();
        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.text()).isEqualTo("fine");
        assertThat(asked).hasValue(2);
        gateway.assertMetered(door.id(RETRIED), "2xx");
    }

    @Door.Each
    void leavesNothingBehindIfTheCallerLeavesInAPause(Door door) throws Exception {
        Semaphore received = answerInParts("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\none", "two");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", door.path(BACKEND, "left")));
            assertThat(caller.readHead().status()).isEqualTo(200);
            assertThat(read(caller, 3)).isEqualTo("one");
        }
        gateway.assertTold(door, BACKEND, door.path(BACKEND, "left"), 499, "client-closed");
        received.release(2);
    }
}
