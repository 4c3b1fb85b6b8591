package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.Door;
import io.weir.testing.GatewayTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestWebSocket;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;

/** A request that asks for an upgrade is a call until the backend has opened the WebSocket, then a stream. */
class UpgradeIT extends GatewayTests {

    private static final int CALLERS = 300;
    private static final int LIMIT = 64;
    private static final int STREAMS = 256;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .backend(
                        "orders",
                        backend.uri(),
                        "deadline: 60s",
                        "max-streams: " + STREAMS,
                        // The test's backend accepts more slowly than so many connections open.
                        "connection: { connect-timeout: 20s }",
                        "bulkhead: { max-concurrent-calls: " + LIMIT + ", queue-capacity: 0 }")
                .route("orders", "orders")
                .start();
    }

    @Door.Each
    void limitsRequestsThatAskForAnUpgradeLikeCalls(Door door) {
        List<CompletableFuture<Integer>> answers = new ArrayList<>();
        for (int i = 0; i < CALLERS; i++) {
            answers.add(dressed(door.path("orders", "dressed-" + i)));
        }
        await().until(() -> done(answers) == CALLERS - LIMIT && calls.inside() == LIMIT);
        assertThat(gateway.backend("orders").bulkhead().inUse()).isEqualTo(LIMIT);

        calls.release();

        assertThat(answers.stream()
                        .map(CompletableFuture::join)
                        .collect(Collectors.groupingBy(status -> status, Collectors.counting())))
                .containsOnly(entry(200, LIMIT), entry(503, CALLERS - LIMIT));
        assertThat(calls.most()).isEqualTo(LIMIT);
    }

    @Door.Each
    void limitsOpenWebSocketsByTheStreamsAlone(Door door) throws IOException {
        backend.behave(TestWebSocket::accept);
        List<TestCaller> open = new ArrayList<>();
        int refused = 0;
        for (int i = 0; i < CALLERS; i++) {
            TestCaller caller = TestCaller.to(gateway.port());
            TestWebSocket.ask(caller, door.path("orders", "socket-" + i));
            int status = caller.answer().status();
            if (status == 101) {
                open.add(caller);
            } else {
                assertThat(status).isEqualTo(503);
                caller.close();
                refused++;
            }
        }

        assertThat(open).hasSize(STREAMS);
        assertThat(refused).isEqualTo(CALLERS - STREAMS);
        await().untilAsserted(() ->
                assertThat(gateway.backend("orders").bulkhead().inUse()).isZero());
        assertThat(gateway.backend("orders").streams().inUse()).isEqualTo(STREAMS);
        assertThat(TestCaller.get(gateway.port(), door.path("neighbour", "beside"))
                        .status())
                .isEqualTo(200);
        for (TestCaller caller : open) {
            caller.close();
        }
    }

    private static Map.Entry<Integer, Long> entry(int status, int count) {
        return Map.entry(status, (long) count);
    }

    private static long done(List<CompletableFuture<Integer>> answers) {
        return answers.stream().filter(CompletableFuture::isDone).count();
    }

    /** A plain request with the fields of a handshake. */
    private static CompletableFuture<Integer> dressed(String path) {
        CompletableFuture<Integer> status = new CompletableFuture<>();
        Thread.ofVirtual().start(() -> {
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                TestWebSocket.ask(caller, path);
                status.complete(caller.answer().status());
            } catch (IOException | RuntimeException e) {
                status.completeExceptionally(e);
            }
        });
        return status;
    }
}
