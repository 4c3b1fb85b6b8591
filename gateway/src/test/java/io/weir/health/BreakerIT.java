package io.weir.health;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.github.resilience4j.circuitbreaker.CircuitBreaker.StateTransition;
import io.weir.management.WeirEndpoint;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.GatewayTests;
import io.weir.testing.HeldCalls;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;

/**
 * The circuit breaker: only the backend's behaviour opens it, and it closes soon after the backend has
 * recovered.
 */
@Timeout(60)
class BreakerIT extends GatewayTests {

    /** The configured {@code minimum-number-of-calls}. */
    private static final int MINIMUM_CALLS = 4;

    private static final int HALF_OPEN_CALLS = 5;
    private static final long PROBE_INTERVAL_MILLIS = 100;

    private static final TestBackend.Behaviour FAILS =
            (request, conversation) -> conversation.answer(500, "backend failure");

    private static final String WINDOW = "minimum-number-of-calls: 4, sliding-window-size: 10";

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .backend(
                        "orders",
                        backend.uri(),
                        "deadline: 60s",
                        "circuit-breaker: { " + WINDOW + " }",
                        "recovery: { probe-interval: 100ms, max-probes: 1 }")
                .backend(
                        "picky",
                        backend.uri(),
                        "deadline: 60s",
                        "circuit-breaker: { " + WINDOW + ", record-statuses: [429] }")
                .backend(
                        "slow",
                        backend.uri(),
                        "deadline: 60s",
                        "circuit-breaker: { " + WINDOW + ", slow-call-duration-threshold: 60ms }",
                        // No probe is due within a test, so every call is refused while open.
                        "recovery: { probe-interval: 60s }")
                .backend(
                        "impatient",
                        backend.uri(),
                        "deadline: 60s",
                        "circuit-breaker: { " + WINDOW + ", max-wait-duration-in-half-open-state: 1500ms }",
                        "recovery: { probe-interval: 100ms, max-probes: 1 }")
                .backend(
                        "checked",
                        backend.uri(),
                        "deadline: 60s",
                        "circuit-breaker: { " + WINDOW + " }",
                        "recovery: { probe-interval: 100ms, health-path: /health }")
                .backend(
                        "single",
                        backend.uri(),
                        "deadline: 60s",
                        "bulkhead: { max-concurrent-calls: 1, queue-capacity: 3, max-wait-duration: 60s }")
                .route("orders", "orders")
                .route("single", "single")
                .route("picky", "picky")
                .route("slow", "slow")
                .route("impatient", "impatient")
                .route("checked", "checked")
                .start();
    }

    // ---------------------------------------------------------------- opening

    @Door.Each
    void recordsTheConfiguredStatusesAsFailures(Door door) throws IOException {
        backend.behave((request, conversation) ->
                conversation.answer(Integer.parseInt(request.target().replaceAll(".*-", "")), ""));
        for (int status : new int[] {500, 429, 503, 200}) {
            assertThat(TestCaller.get(gateway.port(), door.path("picky", "status-" + status))
                            .status())
                    .isEqualTo(status);
        }
        gateway.assertFed("picky", 4, 1, 0);
    }

    @Door.Each
    void opensOnSlowCalls(Door door) throws IOException {
        backend.behave((request, conversation) -> {
            Thread.sleep(80);
            conversation.answer(200, "slow");
        });
        for (int i = 0; i < MINIMUM_CALLS; i++) {
            assertThat(TestCaller.get(gateway.port(), door.path("slow", "slow" + i))
                            .status())
                    .isEqualTo(200);
        }
        assertThat(breaker("slow").state()).isEqualTo(State.OPEN);
        String path = door.path("slow", "refused");
        TestCaller.Answer refused = TestCaller.get(gateway.port(), path);
        JsonNode line = assertRefused(gateway, door, "slow", path, refused, Reason.CIRCUIT_OPEN);
        assertThat(line.path("attempts").asInt()).isZero();
    }

    @Door.Each
    void opensWhileCallsHang(Door door) throws IOException {
        List<CompletableFuture<TestCaller.Answer>> hanging = ask(MINIMUM_CALLS, door.path("slow", "hangs"));

        await().until(() -> breaker("slow").state() == State.OPEN);

        // No call has ended.
        await().until(() -> calls.inside() == MINIMUM_CALLS);
        assertThat(hanging).noneMatch(CompletableFuture::isDone);
        String path = door.path("slow", "behind-the-hang");
        TestCaller.Answer refused = TestCaller.get(gateway.port(), path);
        assertRefused(gateway, door, "slow", path, refused, Reason.CIRCUIT_OPEN);
        assertThat(calls.calls()).isEqualTo(MINIMUM_CALLS);
        calls.release();
        hanging.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
    }

    @Door.Each
    void ignoresShortDeadlinesOfCallers(Door door) throws IOException {
        for (int i = 0; i < 2 * MINIMUM_CALLS; i++) {
            String path = door.path("orders", "hurry" + i);
            TestCaller.Answer late = TestCaller.get(gateway.port(), path, "X-Request-Timeout: 20ms");
            assertRefused(gateway, door, "orders", path, late, Reason.DEADLINE_EXCEEDED);
        }
        gateway.assertFed("orders", 0, 0, 0);

        // A deadline beyond the slow-call threshold does count.
        TestCaller.get(gateway.port(), door.path("slow", "hurry"), "X-Request-Timeout: 800ms");
        gateway.assertFed("slow", 1, 1, 1);
    }

    @Door.Each
    void ignoresCallersThatDisconnect(Door door) throws Exception {
        for (int i = 0; i < 2 * MINIMUM_CALLS; i++) {
            String path = door.path("orders", "leaves" + i);
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                caller.send(TestCaller.head("GET", path));
                calls.next();
                caller.reset();
            }
            gateway.assertTold(door, "orders", path, 499, "client-closed");
        }
        gateway.assertFed("orders", 0, 0, 0);
        await().until(() -> gateway.backend("orders").pool().acquired() == 0);

        // A caller that disconnects after the slow-call threshold leaves a slow call.
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", door.path("slow", "leaves-late")));
            await().until(() -> breaker("slow").overdue() == 1);
            caller.reset();
        }
        gateway.assertTold(door, "slow", door.path("slow", "leaves-late"), 499, "client-closed");
        gateway.assertFed("slow", 1, 0, 1);
    }

    // ---------------------------------------------------------------- recovery

    @Door.Each
    void probesOncePerIntervalAndClosesSoonAfterRecovery(Door door) throws IOException {
        List<StateTransition> transitions = transitions("orders");
        open(door, "orders");
        AtomicInteger reached = new AtomicInteger();
        backend.behave((request, conversation) -> {
            reached.incrementAndGet();
            FAILS.serve(request, conversation);
        });
        String path = door.path("orders", "meanwhile");

        long from = System.nanoTime();
        ask(path, () -> reached.get() == 3);
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - from);
        // Jitter shortens an interval by at most a tenth, and the first probe may have been due already.
        assertThat(millis).isGreaterThanOrEqualTo(2 * PROBE_INTERVAL_MILLIS * 9 / 10);
        assertThat(transitions).containsExactly(StateTransition.CLOSED_TO_OPEN);

        backend.behave(TestBackend.ECHO);
        long recoveredAt = System.nanoTime();
        ask(path, () -> breaker("orders").state() == State.CLOSED);
        // About one interval. The bound allows for a busy machine; Resilience4j's own wait is a minute.
        assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - recoveredAt))
                .isLessThan(150 * PROBE_INTERVAL_MILLIS);
        assertThat(transitions)
                .containsExactly(
                        StateTransition.CLOSED_TO_OPEN,
                        StateTransition.OPEN_TO_HALF_OPEN,
                        StateTransition.HALF_OPEN_TO_CLOSED);
        gateway.assertMetered(door.id("orders"), "circuit-open");
    }

    @Door.Each
    void limitsCallsWhileHalfOpen(Door door) throws Exception {
        open(door, "orders");
        backend.behave(calls);
        HeldCalls.Held probe = probe(door.path("orders", "probe"));
        // No second probe starts while the first is under way.
        for (int i = 0; i < 10; i++) {
            assertRefused(TestCaller.get(gateway.port(), door.path("orders", "beside")), Reason.CIRCUIT_OPEN);
        }
        assertThat(calls.calls()).isEqualTo(1);
        assertThat(breaker("orders").state()).isEqualTo(State.OPEN);

        probe.answer();
        await().until(() -> breaker("orders").state() == State.HALF_OPEN);
        int more = HALF_OPEN_CALLS - 1;
        List<CompletableFuture<TestCaller.Answer>> rush = ask(20, door.path("orders", "rush"));
        await().until(() -> calls.inside() == more
                && rush.stream().filter(CompletableFuture::isDone).count() == 20 - more);

        for (int i = 0; i < more; i++) {
            calls.next().answer();
        }
        await().until(() -> breaker("orders").state() == State.CLOSED);
        List<Integer> statuses =
                rush.stream().map(answer -> answer.join().status()).toList();
        assertThat(statuses.stream().filter(status -> status == 200)).hasSize(more);
        assertThat(calls.most()).isEqualTo(more);
    }

    @Door.Each
    void leavesHalfOpenEvenIfCallersDisconnect(Door door) throws Exception {
        open(door, "orders");
        backend.behave(calls);
        probe(door.path("orders", "probe")).answer();
        await().until(() -> breaker("orders").state() == State.HALF_OPEN);
        // Each call takes a half-open permission and returns it unused.
        for (int i = 0; i < 2 * HALF_OPEN_CALLS; i++) {
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                caller.send(TestCaller.head("GET", door.path("orders", "leaves-half-open" + i)));
                calls.next();
                caller.reset();
            }
            gateway.logged(door.path("orders", "leaves-half-open" + i));
        }
        assertThat(breaker("orders").state()).isEqualTo(State.HALF_OPEN);
        backend.behave(TestBackend.ECHO);
        for (int i = 1; i < HALF_OPEN_CALLS; i++) {
            assertThat(TestCaller.get(gateway.port(), door.path("orders", "stays"))
                            .status())
                    .isEqualTo(200);
        }
        assertThat(breaker("orders").state()).isEqualTo(State.CLOSED);
    }

    @Door.Each
    void leavesHalfOpenEvenIfCallsHang(Door door) throws Exception {
        open(door, "impatient");
        backend.behave(calls);
        probe(door.path("impatient", "probe")).answer();
        await().until(() -> breaker("impatient").state() == State.HALF_OPEN);
        List<CompletableFuture<TestCaller.Answer>> hanging =
                ask(HALF_OPEN_CALLS - 1, door.path("impatient", "hangs-half-open"));
        await().until(() -> calls.inside() == HALF_OPEN_CALLS - 1);

        await().until(() -> breaker("impatient").state() == State.OPEN);

        calls.release();
        hanging.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
        ask(door.path("impatient", "again"), () -> breaker("impatient").state() == State.CLOSED);
    }

    @Door.Each
    void probesOnlyTheHealthPathIfConfigured(Door door) throws Exception {
        open(door, "checked");
        AtomicInteger checks = new AtomicInteger();
        List<String> others = new CopyOnWriteArrayList<>();
        backend.behave((request, conversation) -> {
            if (request.target().equals("/health")) {
                checks.incrementAndGet();
            } else {
                others.add(request.target());
            }
            FAILS.serve(request, conversation);
        });
        String path = door.path("checked", "meanwhile");

        long from = System.nanoTime();
        ask(path, () -> checks.get() >= 3);
        assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - from))
                .isGreaterThanOrEqualTo(2 * PROBE_INTERVAL_MILLIS * 9 / 10);
        assertThat(others).isEmpty();
        assertThat(breaker("checked").state()).isEqualTo(State.OPEN);

        backend.behave(TestBackend.ECHO);
        await().until(() -> breaker("checked").state() == State.HALF_OPEN);
        for (int i = 1; i < HALF_OPEN_CALLS; i++) {
            assertThat(TestCaller.get(gateway.port(), path).status()).isEqualTo(200);
        }
        await().until(() -> breaker("checked").state() == State.CLOSED);
    }

    // ---------------------------------------------------------------- forced states

    @Door.Each
    void refusesAtOnceWhenForcedOpenUntilReleased(Door door) throws IOException {
        backend.behave(TestBackend.ECHO);
        assertThat(TestCaller.get(gateway.port(), door.path("orders", "before")).status())
                .isEqualTo(200);
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        Logger logger = (Logger) LoggerFactory.getLogger(WeirEndpoint.class);
        logger.addAppender(log);

        assertThat(force("orders", "open").at("/breaker/state").asString()).isEqualTo("forced-open");

        int requests = backend.requests();
        String path = door.path("orders", "forced-open");
        TestCaller.Answer refused = TestCaller.get(gateway.port(), path);
        assertRefused(gateway, door, "orders", path, refused, Reason.CIRCUIT_OPEN);
        // No probe starts: the backend did not cause this state.
        await().during(Duration.ofMillis(3 * PROBE_INTERVAL_MILLIS))
                .until(() -> TestCaller.get(gateway.port(), door.path("orders", "forced-open-still"))
                                .status()
                        == 503);
        assertThat(backend.requests()).isEqualTo(requests);

        assertThat(force("orders", "released").at("/breaker/state").asString()).isEqualTo("closed");
        assertThat(TestCaller.get(gateway.port(), door.path("orders", "after")).status())
                .isEqualTo(200);
        logger.detachAppender(log);
        assertThat(log.list).hasSize(2);
        assertThat(log.list.getFirst().getFormattedMessage())
                .contains("orders", "127.0.0.1", "open", "it was closed and is forced-open");
    }

    @Door.Each
    void isCheckedAgainForACallThatLeavesTheQueue(Door door) throws Exception {
        CompletableFuture<TestCaller.Answer> occupant = TestCaller.ask(gateway.port(), door.path("single", "occupies"));
        HeldCalls.Held held = calls.next();
        String path = door.path("single", "waits");
        CompletableFuture<TestCaller.Answer> waiter = TestCaller.ask(gateway.port(), path);
        await().until(() -> gateway.backend("single").bulkhead().queued() == 1);

        force("single", "open");
        held.answer();

        JsonNode line = assertRefused(gateway, door, "single", path, waiter.join(), Reason.CIRCUIT_OPEN);
        force("single", "released");
        assertThat(line.path("attempts").asInt()).isZero();
        assertThat(line.path("queue_ms").asDouble()).isPositive();
        assertThat(occupant.join().status()).isEqualTo(200);
        assertThat(calls.calls()).isEqualTo(1);
    }

    @Door.Each
    void cannotOpenWhileForcedClosed(Door door) throws IOException {
        open(door, "orders");
        assertThat(force("orders", "closed").at("/breaker/state").asString()).isEqualTo("forced-closed");
        backend.behave(FAILS);
        for (int i = 0; i < 5 * MINIMUM_CALLS; i++) {
            TestCaller.Answer answer = TestCaller.get(gateway.port(), door.path("orders", "forced-closed"));
            assertThat(answer.status()).isEqualTo(500);
            assertThat(answer.text()).isEqualTo("backend failure");
        }
        // A hang cannot open it either: overdue calls are counted by the same breaker.
        assertThat(gateway.backend("orders").breaker().state()).isEqualTo(State.DISABLED);

        force("orders", "released");
        assertThat(breaker("orders").state()).isEqualTo(State.CLOSED);
        open(door, "orders");
    }

    // ---------------------------------------------------------------- fixtures

    private static Breaker breaker(String name) {
        return gateway.backend(name).breaker();
    }

    /** Opens a breaker by failed calls. */
    private static void open(Door door, String name) throws IOException {
        backend.behave(FAILS);
        for (int i = 0; i < MINIMUM_CALLS; i++) {
            assertThat(TestCaller.get(gateway.port(), door.path(name, "fails")).status())
                    .isEqualTo(500);
        }
        await().until(() -> breaker(name).state() == State.OPEN);
    }

    /** Sends requests, one after the other, until a condition holds. Every refusal must be the breaker's. */
    private static void ask(String path, BooleanSupplier until) throws IOException {
        long giveUpAt = System.nanoTime() + TestGateway.PATIENCE.toNanos();
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            while (!until.getAsBoolean()) {
                assertThat(System.nanoTime()).as("patience").isLessThan(giveUpAt);
                TestCaller.Answer answer = caller.request("GET", path);
                if (answer.status() == 503) {
                    assertRefused(answer, Reason.CIRCUIT_OPEN);
                }
            }
        }
    }

    private static List<CompletableFuture<TestCaller.Answer>> ask(int callers, String path) {
        List<CompletableFuture<TestCaller.Answer>> answers = new ArrayList<>();
        for (int i = 0; i < callers; i++) {
            answers.add(TestCaller.ask(gateway.port(), path));
        }
        return answers;
    }

    /** Sends requests until one becomes the probe. */
    private HeldCalls.Held probe(String path) throws InterruptedException {
        while (calls.inside() == 0) {
            CompletableFuture<TestCaller.Answer> asked = TestCaller.ask(gateway.port(), path);
            await().until(() -> asked.isDone() || calls.inside() > 0);
        }
        return calls.next();
    }

    private static List<StateTransition> transitions(String name) {
        List<StateTransition> transitions = new CopyOnWriteArrayList<>();
        breaker(name).resilience4j().getEventPublisher().onStateTransition(event -> {
            transitions.add(event.getStateTransition());
        });
        return transitions;
    }

    private static JsonNode force(String name, String word) throws IOException {
        String body = "{\"breaker\":\"" + word + "\"}";
        try (TestCaller caller = TestCaller.to(gateway.managementPort())) {
            caller.send(TestCaller.head(
                            "POST",
                            "/actuator/weir/" + name,
                            "Content-Type: application/json",
                            "Content-Length: " + body.length())
                    + body);
            TestCaller.Answer answer = caller.answer();
            assertThat(answer.status()).isEqualTo(200);
            return answer.problem();
        }
    }
}
