package io.weir.limit;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.GatewayTests;
import io.weir.testing.HeldCalls;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/**
 * The limit on a backend's concurrent calls: exact, with a bounded FIFO queue; calls beyond both are refused
 * at once.
 */
class BulkheadIT extends GatewayTests {

    private static final int LIMIT = 2;
    private static final int WAITERS = 3;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .backend(
                        "orders",
                        backend.uri(),
                        "deadline: 60s",
                        "max-streams: 1",
                        "bulkhead: { max-concurrent-calls: 2, queue-capacity: 3, max-wait-duration: 60s }")
                .backend(
                        "hasty",
                        backend.uri(),
                        "deadline: 60s",
                        "bulkhead: { max-concurrent-calls: 1, queue-capacity: 3, max-wait-duration: 60ms }")
                .backend(
                        "walk-in",
                        backend.uri(),
                        "deadline: 60s",
                        "bulkhead: { max-concurrent-calls: 1, queue-capacity: 0 }")
                .backend(
                        "known",
                        backend.uri(),
                        "deadline: 60s",
                        "bulkhead: { max-concurrent-calls: 1, queue-capacity: 3, max-wait-duration: 60s }")
                .route("orders", "orders")
                .route("tight", "orders", "max-concurrent-calls: 1")
                .route("stream", "orders", "mode: stream")
                .route("hasty", "hasty")
                .route("walk-in", "walk-in")
                .route("known", "known")
                .withoutPauses()
                .start();
    }

    // ---------------------------------------------------------------- limit and queue

    @Door.Any
    void enforcesTheExactLimit(Door door) throws Exception {
        List<CompletableFuture<TestCaller.Answer>> answers = fill(door, "exact");

        assertThat(calls.inside()).isEqualTo(LIMIT);
        assertThat(bulkhead("orders").inUse()).isEqualTo(LIMIT);
        String path = door.path("orders", "too-many");
        TestCaller.Answer refused = TestCaller.get(gateway.port(), path);
        JsonNode line = assertRefused(gateway, door, "orders", path, refused, Reason.BULKHEAD_FULL);
        assertThat(line.path("attempts").asInt()).isZero();

        for (int i = 0; i < LIMIT + WAITERS; i++) {
            calls.next().answer();
        }
        for (CompletableFuture<TestCaller.Answer> answer : answers) {
            assertThat(answer.join().status()).isEqualTo(200);
        }
        assertThat(calls.calls()).isEqualTo(LIMIT + WAITERS);
        assertThat(calls.most()).isEqualTo(LIMIT);
        gateway.assertFed("orders", LIMIT + WAITERS, 0, 0);
    }

    @Door.Any
    void enforcesTheLimitUnderManyConcurrentRequests(Door door) throws Exception {
        int callers = 200;
        calls.release();
        List<CompletableFuture<TestCaller.Answer>> answers = new ArrayList<>();
        for (int i = 0; i < callers; i++) {
            answers.add(TestCaller.ask(gateway.port(), door.path("orders", "stampede")));
        }
        long served = 0;
        for (CompletableFuture<TestCaller.Answer> answer : answers) {
            if (answer.join().status() == 200) {
                served++;
            } else {
                assertRefused(answer.join(), Reason.BULKHEAD_FULL);
            }
        }

        assertThat(calls.most()).isLessThanOrEqualTo(LIMIT);
        assertThat(calls.calls()).as("calls in the backend").isEqualTo((int) served);
        await().until(() -> gateway.lines(door.path("orders", "stampede")).size() == callers);
        gateway.assertMetered(door.id("orders"), "2xx");
        gateway.assertMetered(door.id("orders"), "bulkhead-full");
        assertThat(gateway.backend("orders").health().state()).isEqualTo(State.CLOSED);
    }

    @Door.Any
    void servesQueuedCallsInOrder(Door door) throws Exception {
        List<CompletableFuture<TestCaller.Answer>> answers = fill(door, "order");
        HeldCalls.Held leaving = calls.next();
        List<String> order = new ArrayList<>();
        HeldCalls.Held staying = calls.next();
        for (int i = 0; i < WAITERS; i++) {
            // One call ends, the next one is dispatched.
            leaving.answer();
            leaving = calls.next();
            order.add(leaving.request().target());
        }
        leaving.answer();
        staying.answer();

        assertThat(order)
                .containsExactly(
                        door.path("orders", "order-2"), door.path("orders", "order-3"), door.path("orders", "order-4"));
        answers.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
    }

    @Door.Any
    void refusesACallAfterTheLongestWait(Door door) throws Exception {
        CompletableFuture<TestCaller.Answer> occupant = TestCaller.ask(gateway.port(), door.path("hasty", "occupies"));
        HeldCalls.Held held = calls.next();
        String path = door.path("hasty", "waits");

        TestCaller.Answer refused = TestCaller.get(gateway.port(), path);

        JsonNode line = assertRefused(gateway, door, "hasty", path, refused, Reason.QUEUE_TIMEOUT);
        assertThat(line.path("queue_ms").asDouble()).isGreaterThanOrEqualTo(60);
        assertThat(line.path("attempts").asInt()).isZero();
        held.answer();
        assertThat(occupant.join().status()).isEqualTo(200);
        assertThat(calls.calls()).isEqualTo(1);
        gateway.assertFed("hasty", 1, 0, 0);
        assertThat(shed("hasty", Reason.QUEUE_TIMEOUT)).isPositive();
    }

    @Door.Any
    void refusesAtOnceWithoutAQueue(Door door) throws Exception {
        CompletableFuture<TestCaller.Answer> occupant =
                TestCaller.ask(gateway.port(), door.path("walk-in", "occupies"));
        HeldCalls.Held held = calls.next();
        double before = shed("walk-in", Reason.BULKHEAD_FULL);
        for (int i = 0; i < 30; i++) {
            String path = door.path("walk-in", "full" + i);
            TestCaller.Answer refused = TestCaller.get(gateway.port(), path);
            JsonNode line = assertRefused(gateway, door, "walk-in", path, refused, Reason.BULKHEAD_FULL);
            assertThat(line.path("queue_ms").asDouble()).isZero();
        }
        held.answer();
        assertThat(occupant.join().status()).isEqualTo(200);
        assertThat(shed("walk-in", Reason.BULKHEAD_FULL)).isEqualTo(before + 30);

        // A full bulkhead is not the backend's failure.
        assertThat(gateway.backend("walk-in").health().state()).isEqualTo(State.CLOSED);
        assertThat(gateway.backend("walk-in")
                        .health()
                        .resilience4j()
                        .getMetrics()
                        .getNumberOfNotPermittedCalls())
                .isZero();
        gateway.assertFed("walk-in", 1, 0, 0);
    }

    // ---------------------------------------------------------------- calls that leave the queue

    @Door.Any
    void neverSendsACallThatHasLeftTheQueue(Door door) throws Exception {
        List<CompletableFuture<TestCaller.Answer>> answers = new ArrayList<>();
        for (int i = 0; i < LIMIT; i++) {
            answers.add(TestCaller.ask(gateway.port(), door.path("orders", "stays" + i)));
        }
        await().until(() -> calls.inside() == LIMIT);
        String path = door.path("orders", "leaves");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", path));
            await().until(() -> bulkhead("orders").queued() == 1);
            caller.reset();
        }
        await().until(() -> bulkhead("orders").queued() == 0);
        JsonNode line = gateway.assertTold(door, "orders", path, 499, "client-closed");
        assertThat(line.path("attempts").asInt()).isZero();

        calls.release();
        answers.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
        gateway.assertNothingHeld();
        assertThat(calls.calls()).isEqualTo(LIMIT);
        gateway.assertFed("orders", LIMIT, 0, 0);
    }

    @Door.Any
    void refusesACallWithLessTimeThanItsRoutesCallsUsuallyNeed(Door door) throws Exception {
        // The backend takes 60 ms, and the gateway has enough samples for the route's usual time.
        backend.behave((request, conversation) -> {
            Thread.sleep(60);
            conversation.answer(200, "");
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            while (gateway.route(door.id("known")).usualTime().nanos(System.nanoTime()) == 0) {
                caller.request("GET", door.path("known", "learns"));
            }
        }
        backend.behave(calls);
        CompletableFuture<TestCaller.Answer> occupant = TestCaller.ask(gateway.port(), door.path("known", "occupies"));
        HeldCalls.Held held = calls.next();
        String path = door.path("known", "hopeless");

        TestCaller.Answer refused = TestCaller.get(gateway.port(), path, "X-Request-Timeout: 50ms");

        JsonNode line = assertRefused(gateway, door, "known", path, refused, Reason.DEADLINE_EXCEEDED);
        assertThat(refused.problem().path("detail").asString())
                .isEqualTo("too little time is left to wait for a permit");
        assertThat(line.path("queue_ms").asDouble()).isZero();
        held.answer();
        assertThat(occupant.join().status()).isEqualTo(200);
        assertThat(calls.calls()).isEqualTo(1);
    }

    // ---------------------------------------------------------------- a route's own limit

    @Door.Any
    void enforcesARoutesOwnTighterLimit(Door door) throws Exception {
        CompletableFuture<TestCaller.Answer> first = TestCaller.ask(gateway.port(), door.path("tight", "first"));
        HeldCalls.Held held = calls.next();
        String path = door.path("tight", "second");

        TestCaller.Answer refused = TestCaller.get(gateway.port(), path);

        assertRefused(gateway, door, "tight", path, refused, Reason.BULKHEAD_FULL);
        assertThat(refused.problem().path("detail").asString()).isEqualTo("the route is at its limit");
        // The backend has a free permit, and another route uses it.
        assertThat(bulkhead("orders").inUse()).isEqualTo(1);
        CompletableFuture<TestCaller.Answer> other = TestCaller.ask(gateway.port(), door.path("orders", "other"));
        calls.next().answer();
        assertThat(other.join().status()).isEqualTo(200);
        held.answer();
        assertThat(first.join().status()).isEqualTo(200);
    }

    @Door.Any
    void holdsNoRoutePermitWhileWaitingForTheBackendsPermit(Door door) throws Exception {
        List<CompletableFuture<TestCaller.Answer>> answers = new ArrayList<>();
        for (int i = 0; i < LIMIT; i++) {
            answers.add(TestCaller.ask(gateway.port(), door.path("orders", "others" + i)));
        }
        await().until(() -> calls.inside() == LIMIT);
        answers.add(TestCaller.ask(gateway.port(), door.path("tight", "waits")));
        await().until(() -> bulkhead("orders").queued() == 1);
        QueueingBulkhead tight =
                Objects.requireNonNull(gateway.route(door.id("tight")).limit());

        assertThat(tight.inUse()).isZero();

        calls.next().answer();
        calls.next().answer();
        HeldCalls.Held waited = calls.next();
        assertThat(tight.inUse()).isEqualTo(1);
        waited.answer();
        answers.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
    }

    // ---------------------------------------------------------------- streams

    @Door.Any
    void countsStreamsSeparately(Door door) throws Exception {
        backend.behave((request, conversation) -> {
            if (request.target().contains("/stream/")) {
                conversation.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
                calls.serve(request, conversation);
            } else {
                conversation.answer(200, "");
            }
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", door.path("stream", "open")));
            assertThat(caller.readHead().status()).isEqualTo(200);
            assertThat(gateway.backend("orders").streams().inUse()).isEqualTo(1);
            assertThat(bulkhead("orders").inUse()).isZero();

            String path = door.path("stream", "one-too-many");
            TestCaller.Answer refused = TestCaller.get(gateway.port(), path);
            assertRefused(gateway, door, "stream", path, refused, Reason.BULKHEAD_FULL);
            assertThat(TestCaller.get(gateway.port(), door.path("orders", "beside-a-stream"))
                            .status())
                    .isEqualTo(200);
            caller.reset();
        }
        gateway.assertTold(door, "stream", door.path("stream", "open"), 499, "client-closed");
    }

    // ---------------------------------------------------------------- Resilience4j's view

    @Door.Any
    void changesTheLimitWhileCallsAreInFlight(Door door) throws Exception {
        List<CompletableFuture<TestCaller.Answer>> answers = fill(door, "resize");
        List<HeldCalls.Held> held = new ArrayList<>(List.of(calls.next(), calls.next()));
        try {
            limit(LIMIT + 2);
            // Two queued calls are dispatched at once.
            held.add(calls.next());
            held.add(calls.next());
            assertThat(calls.inside()).isEqualTo(LIMIT + 2);
            assertThat(bulkhead("orders").queued()).isEqualTo(WAITERS - 2);

            limit(1);
            // No queued call is dispatched until only one permit is in use.
            for (int i = 0; i < 3; i++) {
                assertThat(bulkhead("orders").queued()).isEqualTo(1);
                held.get(i).answer();
                int left = held.size() - i - 1;
                await().until(() -> bulkhead("orders").inUse() == left);
            }
            assertThat(calls.calls()).isEqualTo(LIMIT + 2);
            held.get(3).answer();
            calls.next().answer();
        } finally {
            limit(LIMIT);
        }
        answers.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
    }

    @Test
    void appearsInResilience4jsRegistryMetersAndEndpoints() throws Exception {
        BulkheadRegistry registry = gateway.bean(BulkheadRegistry.class);
        assertThat(registry.bulkhead("orders")).isInstanceOf(RegisteredBulkhead.class);
        assertThat(TestCaller.get(gateway.managementPort(), "/actuator/bulkheads")
                        .text())
                .contains("\"orders\"", "\"walk-in\"", "\"hasty\"");

        CompletableFuture<TestCaller.Answer> answer =
                TestCaller.ask(gateway.port(), Door.COMPILED.path("orders", "seen"));
        HeldCalls.Held held = calls.next();
        assertThat(registry.bulkhead("orders").getMetrics().getAvailableConcurrentCalls())
                .isEqualTo(LIMIT - 1);
        assertThat(gauge("resilience4j.bulkhead.available.concurrent.calls")).isEqualTo(LIMIT - 1);
        assertThat(gauge("resilience4j.bulkhead.max.allowed.concurrent.calls")).isEqualTo(LIMIT);
        assertThat(TestCaller.get(gateway.managementPort(), "/actuator/prometheus")
                        .text())
                .contains("resilience4j_bulkhead_available_concurrent_calls{")
                .contains("weir_permits_used{backend=\"orders\"} 1.0");
        held.answer();
        answer.join();
    }

    // ---------------------------------------------------------------- fixtures

    /** Takes all permits and all places in the queue of {@code orders}, one call after the other. */
    private List<CompletableFuture<TestCaller.Answer>> fill(Door door, String name) {
        List<CompletableFuture<TestCaller.Answer>> answers = new ArrayList<>();
        for (int i = 0; i < LIMIT + WAITERS; i++) {
            answers.add(TestCaller.ask(gateway.port(), door.path("orders", name + '-' + i)));
            int sent = Math.min(i + 1, LIMIT);
            int queued = Math.max(0, i + 1 - LIMIT);
            await().until(() -> calls.inside() == sent && bulkhead("orders").queued() == queued);
        }
        return answers;
    }

    private static QueueingBulkhead bulkhead(String name) {
        return gateway.backend(name).bulkhead();
    }

    private static void limit(int calls) {
        gateway.bean(BulkheadRegistry.class)
                .bulkhead("orders")
                .changeConfig(BulkheadConfig.custom()
                        .maxConcurrentCalls(calls)
                        .maxWaitDuration(Duration.ZERO)
                        .build());
    }

    private static double gauge(String name) {
        return gateway.bean(MeterRegistry.class)
                .get(name)
                .tag("name", "orders")
                .gauge()
                .value();
    }

    private static double shed(String name, Reason reason) {
        return gateway
                .bean(MeterRegistry.class)
                .find("weir.shed")
                .tags("backend", name, "reason", reason.word())
                .counters()
                .stream()
                .mapToDouble(counter -> counter.count())
                .sum();
    }
}
