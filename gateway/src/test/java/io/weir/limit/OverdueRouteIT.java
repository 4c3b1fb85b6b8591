package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.engine.Route;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * One route of a backend hangs: it leaves half of the backend's limit to the other routes, also where the
 * breaker, which would refuse its calls, is not enforced.
 */
class OverdueRouteIT {

    private static final int LIMIT = 8;
    private static final Door DOOR = Door.COMPILED;

    private final CountDownLatch healed = new CountDownLatch(1);
    private final AtomicBoolean isHanging = new AtomicBoolean();
    private final AtomicInteger hanging = new AtomicInteger();
    private final AtomicInteger mostHanging = new AtomicInteger();
    private final TestBackend backend = TestBackend.start((request, conversation) -> {
        if (isHanging.get() && request.target().contains("reports")) {
            mostHanging.accumulateAndGet(hanging.incrementAndGet(), Math::max);
            try {
                // The gateway closes the connection at the deadline; the conversation ends with it.
                conversation.in().read();
                healed.await();
            } finally {
                hanging.decrementAndGet();
            }
        }
        conversation.answer(200, "done");
    });
    private final TestGateway gateway = TestGateway.setup()
            .backend(
                    "orders",
                    backend.uri(),
                    "deadline: 60s",
                    "bulkhead: { max-concurrent-calls: " + LIMIT + ", queue-capacity: 100, max-wait-duration: 60s }",
                    "circuit-breaker: { stall-duration: 500ms, failure-rate-threshold: 100, enforce: false }")
            .route("reports", "orders", "deadline: 2s")
            .route("items", "orders")
            .start();

    @BeforeEach
    void isWarm() throws Exception {
        for (int i = 0; i < 10; i++) {
            assertThat(get("reports").status()).isEqualTo(200);
            assertThat(get("items").status()).isEqualTo(200);
        }
        isHanging.set(true);
    }

    @AfterEach
    void stop() {
        healed.countDown();
        gateway.close();
        backend.close();
    }

    @Test
    void leavesHalfOfTheLimitToTheOtherRoutesAndHealsWithOneAnswer() throws Exception {
        // All but one of the permits: the other route is answered meanwhile.
        List<CompletableFuture<TestCaller.Answer>> first = ask("reports", LIMIT - 1);
        await().untilAsserted(() -> {
            assertThat(get("items").status()).isEqualTo(200);
            assertThat(overdue("reports").isHanging(System.nanoTime())).isTrue();
        });

        TestCaller.Answer refused = get("reports");
        assertThat(refused.status()).isEqualTo(503);
        assertThat(refused.reason()).isEqualTo("bulkhead-full");
        assertThat(refused.problem().path("detail").asString())
                .isEqualTo("the route's calls hang and hold half of the limit");
        first.forEach(CompletableFuture::join);
        assertThat(overdue("reports").held()).isZero();

        mostHanging.set(0);
        List<CompletableFuture<TestCaller.Answer>> more = ask("reports", 3 * LIMIT);
        List<CompletableFuture<TestCaller.Answer>> others = ask("items", 3 * LIMIT);
        assertThat(others)
                .allSatisfy(answer -> assertThat(answer.join().status()).isEqualTo(200));
        assertThat(more.stream().filter(answer -> answer.join().status() == 504).count())
                .isEqualTo(LIMIT / 2);
        assertThat(overdue("items").isHanging(System.nanoTime())).isFalse();
        assertThat(gateway.backend("orders").health().state()).isEqualTo(State.CLOSED);

        isHanging.set(false);
        healed.countDown();
        assertThat(get("reports").status()).isEqualTo(200);
        assertThat(overdue("reports").isHanging(System.nanoTime())).isFalse();
        assertThat(ask("reports", 2 * LIMIT))
                .allSatisfy(answer -> assertThat(answer.join().status()).isEqualTo(200));
        gateway.assertNothingHeld();
    }

    @Test
    void theOnlyRouteThatIsCalledIsTheBreakersMatter() {
        List<CompletableFuture<TestCaller.Answer>> all = ask("reports", LIMIT);

        await().untilAsserted(() ->
                assertThat(gateway.backend("orders").health().state()).isEqualTo(State.OPEN));
        assertThat(overdue("reports").isHanging(System.nanoTime())).isFalse();
        all.forEach(CompletableFuture::join);
        assertThat(overdue("reports").held()).isZero();
    }

    @Test
    void aRouteThatIsSlowButAnsweredNeverHangs() throws Exception {
        isHanging.set(false);
        backend.behave((request, conversation) -> {
            // Longer than the stall duration.
            LockSupport.parkNanos(request.target().contains("reports") ? 800_000_000 : 0);
            conversation.answer(200, "done");
        });

        for (int round = 0; round < 2; round++) {
            List<CompletableFuture<TestCaller.Answer>> slow = ask("reports", LIMIT - 1);
            while (slow.stream().anyMatch(answer -> !answer.isDone())) {
                assertThat(get("items").status()).isEqualTo(200);
            }
            assertThat(slow)
                    .allSatisfy(answer -> assertThat(answer.join().status()).isEqualTo(200));
        }

        assertThat(overdue("reports").isHanging(System.nanoTime())).isFalse();
        assertThat(overdue("reports").held()).isZero();
    }

    private TestCaller.Answer get(String route) throws Exception {
        return TestCaller.get(gateway.port(), DOOR.path(route, "1"));
    }

    private List<CompletableFuture<TestCaller.Answer>> ask(String route, int calls) {
        List<CompletableFuture<TestCaller.Answer>> answers = new ArrayList<>();
        for (int i = 0; i < calls; i++) {
            answers.add(TestCaller.ask(gateway.port(), DOOR.path(route, "1")));
        }
        return answers;
    }

    private OverdueCalls overdue(String name) {
        Route route = gateway.route(DOOR.id(name));
        return route.overdue();
    }
}
