package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.Door;
import io.weir.testing.OneBackendTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A backend answers while the request's body is still on its way, and closes at once: the kernel then sends a
 * RST, since bytes are unread. The caller gets the answer, which is no failure of the backend.
 */
class EarlyAnswerIT extends OneBackendTests {

    private static final String ORDERS = "orders";
    private static final int ROUNDS = 20;
    private static final int BODY_BYTES = 8_000_000;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend(ORDERS, backend.uri(), "deadline: 20s")
                .route(ORDERS, ORDERS)
                .start();
    }

    @BeforeEach
    void calm() {
        gateway.calm();
    }

    @ParameterizedTest(name = "{0}, {1}")
    @CsvSource({"413, COMPILED", "413, GENERAL", "401, COMPILED", "401, GENERAL"})
    void reachesTheCallerAlthoughTheUploadFails(int status, Door door) throws Exception {
        backend.behave((request, conversation) -> {
            // The gateway is sending.
            conversation.in().read();
            conversation.answer(status, "early");
            conversation.close();
        });
        for (int i = 0; i < ROUNDS; i++) {
            Thread sending;
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                caller.send(TestCaller.head("POST", door.path(ORDERS, "upload" + i), "Content-Length: " + BODY_BYTES));
                sending = Thread.ofVirtual().start(() -> sendBody(caller));
                TestCaller.Answer answer = caller.answer();
                assertThat(answer.status()).isEqualTo(status);
                assertThat(answer.text()).isEqualTo("early");
            }
            sending.join();
        }
        gateway.assertFed(ORDERS, ROUNDS, 0, 0);
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

    @Door.Any
    void failsIfTheBackendClosesInTheUploadWithoutAnAnswer(Door door) throws IOException {
        backend.behave((request, conversation) -> {
            conversation.in().read();
            conversation.close();
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
}
