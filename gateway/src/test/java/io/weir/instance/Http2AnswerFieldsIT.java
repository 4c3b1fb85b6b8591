package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.testing.Door;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Large heads and trailers of an HTTP/2 backend: up to 64 KiB they are passed on, as over HTTP/1.1. A larger
 * one ends its own call only.
 */
class Http2AnswerFieldsIT extends Http2BackendTests {

    private static Stream<Arguments> bothDoors(int... bytes) {
        return IntStream.of(bytes)
                .boxed()
                .flatMap(size -> Stream.of(Door.values()).map(door -> Arguments.of(size, door)));
    }

    static Stream<Arguments> accepted() {
        return bothDoors(6_000, 9_000, 30_000, 64_000);
    }

    static Stream<Arguments> tooLarge() {
        return bothDoors(70_000, 300_000, 1_000_000);
    }

    @ParameterizedTest(name = "{0} bytes, {1}")
    @MethodSource("accepted")
    void passesOnALargeHead(int bytes, Door door) throws IOException {
        backend.behave(stream -> {
            stream.begin(200, bytes);
            stream.end();
        });

        TestCaller.Answer answer = get(door, ORDERS, "1");

        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.header("large")).hasSize(bytes);
    }

    @ParameterizedTest(name = "{0} bytes, {1}")
    @MethodSource("accepted")
    void passesOnLargeTrailers(int bytes, Door door) throws IOException {
        backend.behave(stream -> {
            stream.begin(200, 1);
            stream.write(new byte[1]);
            stream.trailers(bytes);
        });

        TestCaller.Answer answer = get(door, ORDERS, "1", "TE: trailers");

        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.trailers().get("large")).hasSize(bytes);
    }

    @ParameterizedTest(name = "{0} bytes, {1}")
    @MethodSource("tooLarge")
    void failsOnlyTheCallWhoseHeadIsTooLarge(int bytes, Door door) throws Exception {
        try (Neighbour neighbour = new Neighbour(door)) {
            backend.behave(stream -> {
                stream.begin(200, bytes);
                stream.write(new byte[1]);
                stream.end();
            });

            TestCaller.Answer refusal = get(door, ORDERS, "1");

            assertThat(refusal.status()).isEqualTo(502);
            assertThat(refusal.reason()).isEqualTo("connection-lost");
            neighbour.assertServed();
        }
    }

    @ParameterizedTest(name = "{0} bytes, {1}")
    @MethodSource("tooLarge")
    void failsOnlyTheCallWhoseTrailersAreTooLarge(int bytes, Door door) throws Exception {
        try (Neighbour neighbour = new Neighbour(door)) {
            backend.behave(stream -> {
                stream.begin(200, 1);
                stream.write(new byte[1]);
                stream.trailers(bytes);
            });

            assertThatThrownBy(() -> get(door, ORDERS, "1")).isInstanceOf(IOException.class);
            neighbour.assertServed();
        }
    }

    /** A call on the same connection that is under way. */
    private static final class Neighbour implements AutoCloseable {

        private final CountDownLatch begun = new CountDownLatch(1);
        private final CountDownLatch released = new CountDownLatch(1);
        private final int connections;
        private final CompletableFuture<TestCaller.Answer> answer;

        Neighbour(Door door) throws InterruptedException {
            backend.behave(stream -> {
                begun.countDown();
                released.await();
                stream.answer(204);
            });
            answer = TestCaller.ask(gateway.port(), door.path(ORDERS, "neighbour"));
            assertThat(begun.await(TestGateway.PATIENCE.toMillis(), TimeUnit.MILLISECONDS))
                    .isTrue();
            connections = backend.connections();
        }

        void assertServed() throws Exception {
            released.countDown();
            assertThat(answer.get(TestGateway.PATIENCE.toMillis(), TimeUnit.MILLISECONDS)
                            .status())
                    .isEqualTo(204);
            // The connection goes on.
            backend.behave(stream -> stream.answer(204));
            assertThat(get(Door.COMPILED, ORDERS, "2").status()).isEqualTo(204);
            assertThat(backend.connections()).isEqualTo(connections);
        }

        @Override
        public void close() {
            released.countDown();
        }
    }
}
