package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.door.LiveRoutes;
import io.weir.limit.QueueingBulkhead;
import io.weir.management.OperatorChanges.Answer;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.HeldCalls;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** A protection that is not enforced admits every call, and counts the calls that it would have refused. */
class DryRunIT {

    private static TestBackend backend;
    private static TestGateway gateway;

    private HeldCalls calls = new HeldCalls();
    private Map<String, Long> before = Map.of();

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        String patient = "circuit-breaker: { slow-call-duration-threshold: 60s }";
        gateway = TestGateway.setup()
                .backend(
                        "bulkhead",
                        backend.uri(),
                        "deadline: 60s",
                        patient,
                        "bulkhead: { max-concurrent-calls: 2, queue-capacity: 1, max-wait-duration: 30s, enforce: false }")
                .backend(
                        "queue",
                        backend.uri(),
                        "deadline: 60s",
                        patient,
                        "bulkhead: { max-concurrent-calls: 1, queue-capacity: 1, max-wait-duration: 20ms, enforce: false }")
                .backend("streams", backend.uri(), "deadline: 60s", "max-streams: 1", "bulkhead: { enforce: false }")
                .backend("breaker", backend.uri(), "circuit-breaker: { enforce: false }")
                .backend("deadline", backend.uri(), "deadline: 1s", "deadline-enforce: false")
                .route("bulkhead", "bulkhead")
                .route("queue", "queue")
                .route("streams", "streams", "mode: stream")
                .route("breaker", "breaker")
                .route("deadline", "deadline")
                .backend("open", backend.uri(), "deadline: 60s", patient)
                .route("capped", "open", "max-concurrent-calls: 2", "max-concurrent-calls-enforce: false")
                .route("foreign", "open", "access: { deny: [127.0.0.0/8], enforce: false }")
                .withoutPauses()
                .start();
    }

    @BeforeEach
    void reset() {
        calls = new HeldCalls();
        backend.behave(calls);
        gateway.calm();
    }

    @AfterEach
    void assertNothingHeld() {
        calls.release();
        gateway.assertNothingHeld();
        for (Backend each : gateway.bean(LiveRoutes.class).get().backends().values()) {
            QueueingBulkhead counting = each.bulkhead().dryRun();
            if (counting != null) {
                assertThat(counting.inUse()).isZero();
                assertThat(counting.queued()).isZero();
            }
        }
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    private CompletableFuture<TestCaller.Answer> send(Door door, String route) {
        return CompletableFuture.supplyAsync(
                () -> {
                    try {
                        return TestCaller.get(gateway.port(), door.path(route, "1"));
                    } catch (IOException e) {
                        throw new AssertionError(e);
                    }
                },
                Thread::startVirtualThread);
    }

    private List<CompletableFuture<TestCaller.Answer>> send(Door door, String route, int times) {
        List<CompletableFuture<TestCaller.Answer>> answers = new ArrayList<>();
        for (int i = 0; i < times; i++) {
            answers.add(send(door, route));
            int sent = i + 1;
            await().until(() -> calls.inside() == sent);
        }
        return answers;
    }

    private void assertServed(List<CompletableFuture<TestCaller.Answer>> answers) {
        calls.release();
        answers.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
    }

    private static long wouldRefuse(String backend, String reason) {
        Counter counter = gateway.bean(MeterRegistry.class)
                .find("weir.would.refuse")
                .tags("backend", backend, "reason", reason)
                .counter();
        return counter == null ? 0 : (long) counter.count();
    }

    private void recordCounts(String backend, String... reasons) {
        before = new java.util.HashMap<>();
        for (String reason : reasons) {
            before.put(reason, wouldRefuse(backend, reason));
        }
    }

    private long countedSince(String backend, String reason) {
        return wouldRefuse(backend, reason) - before.getOrDefault(reason, 0L);
    }

    @Door.Each
    void countsRefusalsOfARoutesCapAndAdmits(Door door) {
        recordCounts("open", "bulkhead-full");

        assertServed(send(door, "capped", 5));

        assertThat(countedSince("open", "bulkhead-full")).isEqualTo(3);
    }

    @Door.Each
    void countsCallersThatMayNotUseARouteAndAdmits(Door door) {
        recordCounts("open", "forbidden");

        assertServed(send(door, "foreign", 2));

        assertThat(countedSince("open", "forbidden")).isEqualTo(2);
    }

    @Door.Any
    void countsRefusalsOfTheBulkheadAndAdmits(Door door) {
        recordCounts("bulkhead", "bulkhead-full", "queue-timeout");

        // Two calls hold permits, one would wait, and two would be refused.
        List<CompletableFuture<TestCaller.Answer>> answers = send(door, "bulkhead", 5);

        Backend unenforced = gateway.backend("bulkhead");
        assertThat(unenforced.bulkhead().inUse()).isEqualTo(5);
        assertThat(unenforced.bulkhead().maxConcurrentCalls()).isEqualTo(2);
        assertThat(unenforced.bulkhead().dryRun())
                .extracting(bulkhead -> bulkhead.queued())
                .isEqualTo(1);
        assertThat(countedSince("bulkhead", "bulkhead-full")).isEqualTo(2);
        assertServed(answers);
        await().until(() -> unenforced.bulkhead().inUse() == 0);
        assertThat(countedSince("bulkhead", "bulkhead-full")).isEqualTo(2);
        assertThat(countedSince("bulkhead", "queue-timeout")).isZero();
    }

    @Door.Any
    void countsTimeoutsOfTheQueue(Door door) {
        recordCounts("queue", "bulkhead-full", "queue-timeout");

        List<CompletableFuture<TestCaller.Answer>> answers = send(door, "queue", 2);

        await().until(() -> countedSince("queue", "queue-timeout") == 1);
        assertThat(countedSince("queue", "bulkhead-full")).isZero();
        assertServed(answers);
    }

    @Door.Any
    void countsStreamsOverTheirLimit(Door door) {
        recordCounts("streams", "bulkhead-full");

        List<CompletableFuture<TestCaller.Answer>> answers = send(door, "streams", 3);

        assertThat(gateway.backend("streams").streams().inUse()).isEqualTo(3);
        assertThat(countedSince("streams", "bulkhead-full")).isEqualTo(2);
        assertServed(answers);
    }

    @Door.Any
    void countsRefusalsOfABreakerThatStillOpensAndCloses(Door door) {
        recordCounts("breaker", "circuit-open");
        CircuitBreaker breaker = gateway.backend("breaker").health().resilience4j();
        backend.behave((request, conversation) -> conversation.answer(503, "no"));
        for (int i = 0; i < 30; i++) {
            // The backend's own answer: no call is refused.
            assertThat(send(door, "breaker").join().text()).isEqualTo("no");
        }
        assertThat(breaker.getState()).isEqualTo(CircuitBreaker.State.OPEN);
        assertThat(countedSince("breaker", "circuit-open")).isPositive();

        backend.behave(TestBackend.ECHO);
        await().until(() -> {
            assertThat(send(door, "breaker").join().status()).isEqualTo(200);
            return breaker.getState() == CircuitBreaker.State.CLOSED;
        });
        long soFar = countedSince("breaker", "circuit-open");
        assertThat(send(door, "breaker").join().status()).isEqualTo(200);
        assertThat(countedSince("breaker", "circuit-open")).isEqualTo(soFar);
    }

    @Door.Any
    void countsAnExceededDeadlineOnce(Door door) {
        recordCounts("deadline", "deadline-exceeded");

        List<CompletableFuture<TestCaller.Answer>> answers = send(door, "deadline", 1);

        await().until(() -> countedSince("deadline", "deadline-exceeded") == 1);
        assertServed(answers);
        assertThat(countedSince("deadline", "deadline-exceeded")).isEqualTo(1);
        // A call that is answered in time is not counted.
        assertServed(List.of(send(door, "deadline")));
        assertThat(countedSince("deadline", "deadline-exceeded")).isEqualTo(1);
    }

    @Door.Any
    void enforcesTheCallersDeadlineEvenIfTheConfiguredOneOnlyCounts(Door door) throws IOException {
        TestCaller.Answer answer =
                TestCaller.get(gateway.port(), door.path("deadline", "1"), "X-Request-Timeout: 60ms");

        assertThat(answer.status()).isEqualTo(504);
        assertThat(answer.reason()).isEqualTo("deadline-exceeded");
    }

    @Door.Any
    void refusesAsSoonAsAnOperatorEnforcesTheBulkhead(Door door) {
        LiveConfiguration live = gateway.bean(LiveConfiguration.class);
        List<CompletableFuture<TestCaller.Answer>> answers = send(door, "bulkhead", 4);
        try {
            Answer answer =
                    live.change("bulkhead", Map.of("enforce", "true", "max-wait-duration", "0s"), "a test", null);
            assertThat(answer.problems()).isEmpty();

            // The admitted calls continue; further calls are refused.
            assertThat(gateway.backend("bulkhead").bulkhead().inUse()).isEqualTo(4);
            assertThat(send(door, "bulkhead").join().reason()).isEqualTo("bulkhead-full");
        } finally {
            Answer back =
                    live.change("bulkhead", Map.of("enforce", "false", "max-wait-duration", "30s"), "a test", null);
            assertThat(back.problems()).isEmpty();
        }
        assertServed(answers);
    }
}
