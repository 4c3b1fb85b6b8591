package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http2.Http2Error;
import io.weir.testing.Door;
import io.weir.testing.TestCaller;
import io.weir.testing.Tier;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * An HTTP/2 backend answers while the request's body is still on its way, and resets the stream. The caller
 * gets the answer, which is no failure of the backend.
 */
class Http2EarlyAnswerIT extends Http2BackendTests {

    private static final int ROUNDS = 20;
    private static final int BODY_BYTES = 8_000_000;
    /** A whole window: a part of it waits to be read when the reset arrives. */
    private static final String TEXT = "x".repeat(60_000);

    static Stream<Arguments> resets() {
        return Stream.of(Http2Error.NO_ERROR, Http2Error.CANCEL, Http2Error.STREAM_CLOSED)
                .flatMap(error -> Stream.of(413, 401)
                        .flatMap(status -> Tier.doors().stream().map(door -> Arguments.of(status, error, door))));
    }

    @ParameterizedTest(name = "{0}, {1}, {2}")
    @MethodSource("resets")
    void reachesTheCallerAlthoughTheStreamIsReset(int status, Http2Error error, Door door) throws Exception {
        backend.behave(stream -> {
            stream.awaitBody();
            stream.answerAndReset(status, TEXT.getBytes(StandardCharsets.US_ASCII), error);
        });
        for (int i = 0; i < ROUNDS; i++) {
            Thread sending;
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                String path = door.path(ORDERS, status + "-" + error + "-" + i);
                caller.send(TestCaller.head("POST", path, "Content-Length: " + BODY_BYTES));
                sending = Thread.ofVirtual().start(() -> sendBody(caller));
                TestCaller.Answer answer = caller.answer();
                assertThat(answer.status()).isEqualTo(status);
                assertThat(answer.text()).isEqualTo(TEXT);
                // A caller that leaves before the stream's end is no evidence.
                gateway.logged(path);
            }
            sending.join();
        }
        gateway.assertFed(ORDERS, ROUNDS, 0, 0);
    }

    @Door.Any
    void failsIfTheBackendResetsTheUploadWithoutAnAnswer(Door door) throws IOException {
        backend.behave(stream -> {
            stream.awaitBody();
            stream.reset(Http2Error.CANCEL);
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", door.path(ORDERS, "lost"), "Content-Length: " + BODY_BYTES));
            caller.send(new byte[1_000_000]);
            TestCaller.Answer answer = caller.answer();
            assertThat(answer.status()).isEqualTo(502);
            assertThat(answer.reason()).isEqualTo("connection-lost");
        }
        gateway.assertFed(ORDERS, 1, 1, 0);
    }

    private static void sendBody(TestCaller caller) {
        try {
            for (int sent = 0; sent < BODY_BYTES; sent += 100_000) {
                caller.send(new byte[100_000]);
            }
        } catch (IOException e) {
            // The gateway has closed the connection after its answer.
        }
    }
}
