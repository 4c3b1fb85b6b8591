package io.weir.health;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.github.resilience4j.circuitbreaker.CircuitBreaker.StateTransition;
import io.weir.management.OperatorSwitches;
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
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;

/**
 * The circuit breaker: only the backend's behaviour opens it, and it closes soon after the backend has
 * recovered.
 */
class BreakerIT extends GatewayTests {

    /** The configured {@code minimum-number-of-calls}. */
    private static final int MINIMUM_CALLS = 4;

    /** The limit with which a recovery starts. */
    private static final int RAMP_START = 5;

    private static final long PROBE_INTERVAL_MILLIS = 100;

    private static final TestBackend.Behaviour FAILS =
            (request, conversation) -> conversation.answer(500, "backend failure");

    private static final String WINDOW = "minimum-number-of-calls: 4, sliding-window-size: 10";

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .withoutPauses()
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
                        "stalls",
                        backend.uri(),
                        "deadline: 60s",
                        "circuit-breaker: { " + WINDOW + ", stall-calls: 4, stall-duration: 60ms }",
                        "recovery: { probe-interval: 100ms }")
                .backend(
                        "ramp",
                        backend.uri(),
                        "deadline: 60s",
                        "bulkhead: { max-concurrent-calls: 64, queue-capacity: 64, max-wait-duration: 60s }",
                        "circuit-breaker: { " + WINDOW + " }",
                        "recovery: { probe-interval: 100ms }")
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
                .route("stalls", "stalls")
                .route("ramp", "ramp")
                .route("checked", "checked")
                .start();
    }

    // ---------------------------------------------------------------- opening

    @Door.Any
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

    @Door.Any
    void opensOnSlowCalls(Door door) throws IOException {
        backend.behave((request, conversation) -> {
            // Longer than the threshold of a slow call.
            Thread.sleep(80);
            conversation.answer(200, "slow");
        });
        for (int i = 0; i < MINIMUM_CALLS; i++) {
            assertThat(TestCaller.get(gateway.port(), door.path("slow", "slow" + i))
                            .status())
                    .isEqualTo(200);
        }
        await().until(() -> breaker("slow").state() == State.OPEN);
        String path = door.path("slow", "refused");
        TestCaller.Answer refused = TestCaller.get(gateway.port(), path);
        JsonNode line = assertRefused(gateway, door, "slow", path, refused, Reason.CIRCUIT_OPEN);
        assertThat(line.path("attempts").asInt()).isZero();
    }

    @Door.Any
    void opensWhileCallsHang(Door door) throws IOException {
        List<CompletableFuture<TestCaller.Answer>> hanging = ask(MINIMUM_CALLS, door.path("stalls", "hangs"));

        await().until(() -> breaker("stalls").state() == State.OPEN);

        // No call ends, and each returns its permit, which the backend needs when it has recovered.
        await().until(() -> gateway.backend("stalls").bulkhead().inUse() == 0);
        assertThat(hanging).noneMatch(CompletableFuture::isDone);
        assertThat(breaker("stalls").why())
                .startsWith("stalled, no answer for ")
                .endsWith(", 4 calls unanswered");
        String path = door.path("stalls", "behind-the-hang");
        TestCaller.Answer refused = TestCaller.get(gateway.port(), path);
        assertRefused(gateway, door, "stalls", path, refused, Reason.CIRCUIT_OPEN);
        calls.release();
        hanging.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
        await().until(() -> breaker("stalls").state() == State.CLOSED);
    }

    @Door.Any
    void noCallerWaitsWhileTheBackendHangs(Door door) throws Exception {
        List<CompletableFuture<TestCaller.Answer>> hanging = ask(MINIMUM_CALLS, door.path("stalls", "hangs"));
        await().until(() -> breaker("stalls").state() == State.OPEN);
        for (int i = 0; i < MINIMUM_CALLS; i++) {
            calls.next();
        }

        // Each of these requests would have been a probe, and would have waited.
        String path = door.path("stalls", "meanwhile");
        ask(path, () -> calls.calls() >= MINIMUM_CALLS + 3);
        TestBackend.Request copy = calls.next().request();
        assertThat(copy.target()).endsWith("/meanwhile");
        assertThat(copy.header("weir-probe")).isEqualTo("shadow");

        calls.release();
        hanging.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
    }

    @Door.Any
    void oneCallerAtATimeIsTheProbeWhereNoRequestCanBeCopied(Door door) throws Exception {
        List<CompletableFuture<TestCaller.Answer>> hanging = ask(MINIMUM_CALLS, door.path("stalls", "hangs"));
        await().until(() -> breaker("stalls").state() == State.OPEN);
        String path = door.path("stalls", "post");
        await().until(() -> {
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                // Refused after the stall time, if it was the probe.
                assertRefused(caller.request("POST", path), Reason.CIRCUIT_OPEN);
            }
            return calls.calls() >= MINIMUM_CALLS + 2;
        });
        assertThat(calls.most()).isLessThanOrEqualTo(MINIMUM_CALLS + 2);

        calls.release();
        hanging.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
        await().until(() -> {
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                return caller.request("POST", path).status() == 200;
            }
        });
    }

    @Door.Any
    void ignoresShortDeadlinesOfCallers(Door door) throws IOException {
        for (int i = 0; i < 2 * MINIMUM_CALLS; i++) {
            String path = door.path("orders", "hurry" + i);
            TestCaller.Answer late = TestCaller.get(gateway.port(), path, "X-Request-Timeout: 20ms");
            assertRefused(gateway, door, "orders", path, late, Reason.DEADLINE_EXCEEDED);
        }
        gateway.assertFed("orders", 0, 0, 0);
    }

    @Door.Any
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
        await().until(() -> gateway.backend("orders").instances().first().pool().acquired() == 0);

        // A caller that disconnects late is no result either; only the wait counts.
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", door.path("stalls", "leaves-late")));
            await().until(() -> breaker("stalls").overdue() == 1);
            caller.reset();
        }
        gateway.assertTold(door, "stalls", door.path("stalls", "leaves-late"), 499, "client-closed");
        gateway.assertFed("stalls", 0, 0, 0);
    }

    // ---------------------------------------------------------------- recovery

    @Door.Any
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
        ask(path, () -> breaker("orders").state() == State.CLOSED);
        assertThat(transitions)
                .containsExactly(
                        StateTransition.CLOSED_TO_OPEN,
                        StateTransition.OPEN_TO_HALF_OPEN,
                        StateTransition.HALF_OPEN_TO_CLOSED);
        gateway.assertMetered(door.id("orders"), "circuit-open");
    }

    @Door.Any
    void raisesTheLimitWithEachGoodAnswerAndQueuesTheOthers(Door door) throws Exception {
        open(door, "ramp");
        backend.behave(calls);
        probe(door.path("ramp", "probe")).answer();
        await().until(() -> breaker("ramp").state() == State.HALF_OPEN);

        // A failure keeps the ramp from closing after a second.
        List<CompletableFuture<TestCaller.Answer>> rush = ask(20, door.path("ramp", "rush"));
        await().until(() -> calls.inside() == RAMP_START
                && gateway.backend("ramp").bulkhead().queued() == 20 - RAMP_START);
        calls.next().then(FAILS);
        await().until(() -> gateway.backend("ramp").bulkhead().queued() == 20 - RAMP_START - 1);
        assertThat(calls.most()).isEqualTo(RAMP_START);
        calls.next().answer();
        await().until(() -> calls.inside() == RAMP_START + 1);

        calls.release();
        await().until(() -> breaker("ramp").state() == State.CLOSED);
        List<Integer> statuses =
                rush.stream().map(answer -> answer.join().status()).toList();
        assertThat(statuses.stream().filter(status -> status == 200)).hasSize(19);
        assertThat(gateway.backend("ramp").bulkhead().maxConcurrentCalls()).isEqualTo(64);
    }

    @Door.Any
    void leavesHalfOpenWithoutTraffic(Door door) throws Exception {
        open(door, "orders");
        backend.behave(calls);
        probe(door.path("orders", "probe")).answer();
        await().until(() -> breaker("orders").state() != State.OPEN);
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", door.path("orders", "leaves-half-open")));
            calls.next();
            caller.reset();
        }

        await().until(() -> breaker("orders").state() == State.CLOSED);
    }

    @Door.Any
    void opensAgainIfCallsHangWhileHalfOpen(Door door) throws Exception {
        open(door, "stalls");
        backend.behave(calls);
        probe(door.path("stalls", "probe")).answer();
        await().until(() -> breaker("stalls").state() != State.OPEN);
        List<CompletableFuture<TestCaller.Answer>> hanging = ask(MINIMUM_CALLS, door.path("stalls", "hangs-half-open"));

        await().until(() -> breaker("stalls").state() == State.OPEN);

        calls.release();
        hanging.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
        ask(door.path("stalls", "again"), () -> breaker("stalls").state() == State.CLOSED);
    }

    @Door.Any
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
        await().until(() -> breaker("checked").state() == State.CLOSED);
        assertThat(TestCaller.get(gateway.port(), path).status()).isEqualTo(200);
    }

    // ---------------------------------------------------------------- forced states

    @Door.Any
    void refusesAtOnceWhenForcedOpenUntilReleased(Door door) throws IOException {
        backend.behave(TestBackend.ECHO);
        assertThat(TestCaller.get(gateway.port(), door.path("orders", "before")).status())
                .isEqualTo(200);
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        Logger logger = (Logger) LoggerFactory.getLogger(OperatorSwitches.class);
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

    @Door.Any
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

    @Door.Any
    void cannotOpenWhileForcedClosed(Door door) throws IOException {
        open(door, "orders");
        assertThat(force("orders", "closed").at("/breaker/state").asString()).isEqualTo("forced-closed");
        backend.behave(FAILS);
        for (int i = 0; i < 5 * MINIMUM_CALLS; i++) {
            TestCaller.Answer answer = TestCaller.get(gateway.port(), door.path("orders", "forced-closed"));
            assertThat(answer.status()).isEqualTo(500);
            assertThat(answer.text()).isEqualTo("backend failure");
        }
        assertThat(gateway.backend("orders").health().state()).isEqualTo(State.DISABLED);

        force("orders", "released");
        assertThat(breaker("orders").state()).isEqualTo(State.CLOSED);
        open(door, "orders");
    }

    // ---------------------------------------------------------------- fixtures

    private static Health breaker(String name) {
        return gateway.backend(name).health();
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

    /** Sends requests until a copy of one is the probe. */
    private HeldCalls.Held probe(String path) throws IOException, InterruptedException {
        ask(path, () -> calls.inside() > 0);
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
