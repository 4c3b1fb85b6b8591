package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.Door;
import io.weir.testing.TestCaller;
import io.weir.testing.TestHttp2Backend;
import io.weir.testing.Tier;
import java.io.IOException;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** An HTTP/2 backend whose answer is not as long as it says never becomes a complete answer over HTTP/1.1. */
class Http2AnswerLengthIT extends Http2BackendTests {

    /** An answer with {@code content-length: 5}. */
    private record Answer(String name, TestHttp2Backend.Behaviour behaviour) {

        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Arguments> wrong() {
        return Stream.of(
                        new Answer("ends with its head", stream -> stream.announce(200, 5, true)),
                        new Answer("ends without a byte", stream -> stream.answer(200, 5)),
                        new Answer("is shorter", stream -> stream.answer(200, 5, new byte[3])),
                        new Answer("is longer", stream -> stream.answer(200, 5, new byte[7])))
                .flatMap(answer -> Tier.doors().stream().map(door -> Arguments.of(answer, door)));
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("wrong")
    void refusesAnAnswerOfAnotherLength(Answer answer, Door door) throws IOException {
        backend.behave(answer.behaviour());

        TestCaller.Answer refusal = get(door, ORDERS, "1");

        assertThat(refusal.status()).isEqualTo(502);
        assertThat(refusal.reason()).isEqualTo("connection-lost");
        gateway.assertFed(ORDERS, 1, 1, 0);
    }

    @Door.Any
    void passesOnTheLengthOfWhatAHeadWouldGet(Door door) throws IOException {
        backend.behave(stream -> stream.announce(200, 5, true));
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            for (int i = 0; i < 2; i++) {
                caller.send(TestCaller.head("HEAD", door.path(ORDERS, "1")));
                TestCaller.Answer answer = caller.answer(true);

                assertThat(answer.status()).isEqualTo(200);
                assertThat(answer.header("content-length")).isEqualTo("5");
            }
        }
    }

    @Door.Any
    void passesOnTheLengthOfWhatHasNotChanged(Door door) throws IOException {
        backend.behave(stream -> stream.announce(304, 5, true));

        TestCaller.Answer answer = get(door, ORDERS, "1");

        assertThat(answer.status()).isEqualTo(304);
    }
}
