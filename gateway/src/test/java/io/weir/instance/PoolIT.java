package io.weir.instance;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.GatewayTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;

/**
 * A backend's connection pool: bounded, without waiting requests, and idle connections are closed by the
 * gateway first.
 */
class PoolIT extends GatewayTests {

    private static final int LIMIT = 3;
    private static final int STREAMS = 1;
    private static final int MAX_PROBES = 5;
    private static final int HEADROOM = 2;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .backend(
                        "orders",
                        backend.uri(),
                        "deadline: 60s",
                        "max-streams: 1",
                        "bulkhead: { max-concurrent-calls: 3, queue-capacity: 500, max-wait-duration: 60s }",
                        "connection: { headroom: 2 }")
                .backend("fickle", backend.uri(), "deadline: 60s", "connection: { max-idle: 100ms }")
                .backend("aging", backend.uri(), "deadline: 60s", "connection: { max-life: 1s }")
                .route("orders", "orders")
                .route("fickle", "fickle")
                .route("aging", "aging")
                .start();
    }

    @Door.Any
    void hasAConnectionPerPermitAndNoWaitingRequests(Door door) throws IOException {
        int callers = 100;
        int before = backend.accepted();
        Pool pool = gateway.backend("orders").instances().first().pool();
        // Calls that hang when the breaker opens keep their connections, and so do probes.
        assertThat(pool.maxConnections()).isEqualTo(2 * LIMIT + MAX_PROBES + STREAMS + HEADROOM);
        List<CompletableFuture<TestCaller.Answer>> answers = new ArrayList<>();
        for (int i = 0; i < callers; i++) {
            answers.add(TestCaller.ask(gateway.port(), door.path("orders", "rush")));
        }
        await().until(() ->
                gateway.backend("orders").bulkhead().queued() == callers - LIMIT && calls.inside() == LIMIT);

        assertThat(pool.acquired()).isEqualTo(LIMIT);
        assertThat(pool.pending()).isZero();
        // The neighbour has its own connections.
        gateway.assertNeighbourUnharmed();
        calls.release();
        int waited = 0;
        while (!answers.stream().allMatch(CompletableFuture::isDone)) {
            waited = Math.max(waited, pool.pending());
        }

        answers.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
        // A permit may be released just before its connection; no more requests than permits ask for a
        // connection.
        assertThat(waited).as("requests that waited for a connection").isLessThanOrEqualTo(LIMIT);
        assertThat(backend.accepted() - before).isLessThanOrEqualTo(LIMIT + STREAMS + HEADROOM);
    }

    @Door.Any
    void keepsItsBoundWhenAllConnectionsAreReset(Door door) throws Exception {
        Pool pool = gateway.backend("orders").instances().first().pool();
        for (int round = 0; round < 20; round++) {
            // Each reset admits the next queued call while the old connection is still being closed.
            List<TestCaller> callers = new ArrayList<>();
            for (int i = 0; i < 2 * LIMIT; i++) {
                TestCaller caller = TestCaller.to(gateway.port());
                caller.send(TestCaller.head("GET", door.path("orders", "leaves")));
                callers.add(caller);
            }
            await().until(() -> calls.inside() % (2 * LIMIT) == 0 || pool.acquired() == LIMIT);
            for (TestCaller caller : callers) {
                caller.reset();
            }
            assertThat(pool.acquired() + pool.idle()).isLessThanOrEqualTo(pool.maxConnections());
        }
        gateway.assertNothingHeld();
        backend.behave(TestBackend.ECHO);
        assertThat(TestCaller.get(gateway.port(), door.path("orders", "after")).status())
                .isEqualTo(200);
        await().until(() -> gateway.lines(door.path("orders", "leaves")).size() == 20 * 2 * LIMIT);
        gateway.assertMetered(door.id("orders"), "client-closed");
        gateway.assertFed("orders", 1, 0, 0);
    }

    @Door.Any
    void closesAnIdleConnectionBeforeTheBackendDoes(Door door) throws Exception {
        // The backend keeps a connection for longer than the gateway, and would close it with a RST.
        AtomicInteger closedByBackend = new AtomicInteger();
        backend.behave((request, conversation) -> {
            conversation.answer(200, "kept");
            try {
                conversation.awaitNext(600);
            } catch (SocketTimeoutException e) {
                closedByBackend.incrementAndGet();
                conversation.reset();
            }
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            for (int i = 0; i < 4; i++) {
                int accepted = backend.accepted();
                assertThat(caller.request("GET", door.path("fickle", "idle")).status())
                        .isEqualTo(200);
                assertThat(backend.accepted()).as("connections accepted").isEqualTo(accepted + 1);
                long idleSince = System.nanoTime();
                await().until(() -> System.nanoTime() - idleSince > TimeUnit.MILLISECONDS.toNanos(250));
            }
        }
        gateway.assertFed("fickle", 4, 0, 0);
    }

    @Door.Any
    void doesNotRetryByItself(Door door) throws IOException {
        backend.behave(TestBackend.ECHO);
        assertThat(TestCaller.get(gateway.port(), door.path("orders", "first")).status())
                .isEqualTo(200);
        gateway.assertNothingHeld();
        AtomicInteger asked = new AtomicInteger();
        backend.behave((request, conversation) -> {
            asked.incrementAndGet();
            conversation.reset();
        });
        String path = door.path("orders", "reset");

        TestCaller.Answer answer = TestCaller.get(gateway.port(), path);

        assertRefused(gateway, door, "orders", path, answer, Reason.CONNECTION_LOST);
        assertThat(asked.get()).isEqualTo(1);
        gateway.assertFed("orders", 2, 1, 0);
        // Reactor Netty retries only if a connection closes between its acquisition and the first byte, which
        // a test cannot cause.
        assertThat(gateway.backend("orders")
                        .instances()
                        .first()
                        .pool()
                        .client()
                        .configuration()
                        .isRetryDisabled())
                .isTrue();
    }

    @Door.Any
    void replacesAnOldConnectionEvenIfBusy(Door door) throws IOException {
        backend.behave(TestBackend.ECHO);
        int before = backend.accepted();
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            await().until(() -> {
                assertThat(caller.request("GET", door.path("aging", "busy")).status())
                        .isEqualTo(200);
                return backend.accepted() >= before + 2;
            });
        }
    }
}
