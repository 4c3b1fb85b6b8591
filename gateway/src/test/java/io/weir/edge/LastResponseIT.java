package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.Door;
import io.weir.testing.OneBackendTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import org.junit.jupiter.api.BeforeAll;

/** A response is recorded correctly although the gateway closes the connection after it. */
class LastResponseIT extends OneBackendTests {

    private static final String BACKEND = "orders";

    @BeforeAll
    static void start() {
        backend = TestBackend.start((request, conversation) -> {
            conversation.answer(request.target().endsWith("failed") ? 500 : 200, "ok");
        });
        gateway = TestGateway.setup()
                .backend(BACKEND, backend.uri(), "deadline: 20s")
                .route(BACKEND, BACKEND)
                .start();
    }

    @Door.Each
    void recordsACompleteResponse(Door door) throws IOException {
        assertTold(door, "whole", 200, "2xx");
    }

    @Door.Each
    void recordsABackendsError(Door door) throws IOException {
        assertTold(door, "failed", 500, "5xx");
    }

    /** An HTTP/1.0 connection is kept only if both sides say so. */
    @Door.Each
    void recordsResponsesToAnHttp10Caller(Door door) throws IOException {
        String path = door.path(BACKEND, "old");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send("GET " + path + " HTTP/1.0\r\n\r\n");
            TestCaller.Answer answer = caller.answer();
            assertThat(answer.text()).isEqualTo("ok");
            assertThat(caller.in().read()).as("after the last byte").isEqualTo(-1);
        }
        gateway.assertTold(door, BACKEND, path, 200, "2xx");

        try (TestCaller caller = TestCaller.to(gateway.port())) {
            for (int i = 0; i < 3; i++) {
                caller.send("GET " + path + i + " HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
                TestCaller.Answer answer = caller.answer();
                assertThat(answer.header("connection")).isEqualTo("keep-alive");
                assertThat(answer.text()).isEqualTo("ok");
                gateway.assertTold(door, BACKEND, path + i, 200, "2xx");
            }
        }
    }

    @Door.Each
    void answersAllRequestsBeforeTheLastOne(Door door) throws IOException {
        String path = door.path(BACKEND, "pipelined");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", path).repeat(49) + TestCaller.head("GET", path, "Connection: close"));
            for (int i = 0; i < 50; i++) {
                assertThat(caller.answer().text()).as("answer %d", i).isEqualTo("ok");
            }
            assertThat(caller.in().read()).as("after the last byte").isEqualTo(-1);
        }
        await().untilAsserted(() -> assertThat(gateway.lines(path)).hasSize(50));
    }

    private static void assertTold(Door door, String name, int status, String outcome) throws IOException {
        String path = door.path(BACKEND, name);
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestCaller.Answer answer = caller.request("GET", path, "Connection: close");
            assertThat(answer.status()).isEqualTo(status);
            assertThat(answer.header("connection")).isEqualTo("close");
            assertThat(answer.body()).hasSize(2);
            assertThat(caller.in().read()).as("after the last byte").isEqualTo(-1);
        }
        gateway.assertTold(door, BACKEND, path, status, outcome);
    }
}
