package io.weir.limit;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.weir.limit.Limit.Change;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The limit that nobody has configured, in front of a backend in which calls really queue. */
class AdaptiveLimitIT {

    private static final int WORKERS = 4;
    private static final long SERVICE_NANOS = TimeUnit.MILLISECONDS.toNanos(40);
    private static final double CAPACITY = WORKERS * 1e9 / SERVICE_NANOS;
    private static final int BURST = 10;
    /** The deadline has passed after the answer had begun. */
    private static final String RESET = "reset";

    /** First-in-first-out, without a bound: calls that are abandoned are served all the same. */
    private final Semaphore workers = new Semaphore(WORKERS, true);

    private final AtomicInteger served = new AtomicInteger();
    private final TestBackend backend = TestBackend.start((request, conversation) -> {
        workers.acquireUninterruptibly();
        try {
            LockSupport.parkNanos(SERVICE_NANOS);
            served.incrementAndGet();
        } finally {
            workers.release();
        }
        conversation.answer(200, "done");
    });
    private final TestGateway gateway = TestGateway.setup()
            .backend("orders", backend.uri(), "deadline: 800ms", "bulkhead: {}")
            .route("orders", "orders")
            .start();

    @BeforeEach
    void isWarm() throws Exception {
        for (Door door : Door.values()) {
            for (int i = 0; i < 20; i++) {
                TestCaller.get(gateway.port(), door.path("orders", "warm-up"));
            }
        }
        served.set(0);
    }

    @AfterEach
    void stop() {
        gateway.close();
        backend.close();
    }

    @Door.Any
    void doesUsefulWorkInAnOverload(Door door) throws Exception {
        Map<String, Integer> outcomes = outcomes(overload(door, 2.5));

        assertThat(outcomes.keySet())
                .as("answers and refusals: %s", outcomes)
                .contains("200", "queue-evicted")
                .isSubsetOf("200", "queue-evicted", "bulkhead-full", "queue-timeout", "deadline-exceeded", RESET);
        int answered = outcomes.getOrDefault("200", 0);
        assertThat(answered)
                .as("useful part of the %d calls that the backend served, of %s", served.get(), outcomes)
                .isGreaterThan(served.get() * 8 / 10);
        assertThat(gateway.backend("orders").limit().beliefs().limit()).isBetween(WORKERS / 2, 6 * WORKERS);
        gateway.assertNothingHeld();
        gateway.assertNeighbourUnharmed();
    }

    @Door.Any
    void refusesNothingInTheCalm(Door door) throws Exception {
        for (int burst = 0; burst < 5; burst++) {
            List<CompletableFuture<TestCaller.Answer>> answers = new ArrayList<>();
            for (int i = 0; i < BURST; i++) {
                answers.add(TestCaller.ask(gateway.port(), door.path("orders", "burst")));
            }
            assertThat(outcomes(answers)).isEqualTo(Map.of("200", BURST));
        }
        LimitInForce limit = gateway.backend("orders").limit();
        assertThat(limit.beliefs().limit()).isGreaterThanOrEqualTo(8);
        assertThat(limit.changes(Change.QUEUEING)).isZero();
    }

    @Test
    void keepsItsPermitsAndWhatItLearntThroughReloadsInAnOverload() throws Exception {
        List<CompletableFuture<TestCaller.Answer>> answers = overload(Door.COMPILED, .7);
        for (String bulkhead : List.of(
                "bulkhead: { limit: { max: 100 } }",
                "bulkhead: { max-concurrent-calls: 4 }",
                "bulkhead: { enforce: false }",
                "bulkhead: {}")) {
            answers.addAll(overload(Door.COMPILED, .2));
            gateway.rewrite(Files.readString(gateway.file())
                    .replaceFirst("deadline: 800ms[^\n]* }\n", "deadline: 800ms, " + bulkhead + " }\n"));
            assertThat(gateway.bean(LiveConfiguration.class)
                            .reload(Trigger.REQUEST, "a test")
                            .problems())
                    .isEmpty();
        }
        answers.addAll(overload(Door.COMPILED, .5));

        Map<String, Integer> outcomes = outcomes(answers);

        assertThat(outcomes.keySet())
                .as("answers and refusals: %s", outcomes)
                .contains("200")
                // Without enforcement the whole load is in the backend, which then hardly answers.
                .isSubsetOf(
                        "200",
                        "queue-evicted",
                        "bulkhead-full",
                        "queue-timeout",
                        "circuit-open",
                        "deadline-exceeded",
                        RESET);
        gateway.assertNothingHeld();
        LimitInForce limit = gateway.backend("orders").limit();
        assertThat(limit.isAdaptive()).isTrue();
        assertThat(limit.beliefs().baseLatencyNanos()).isPositive();
        await().untilAsserted(
                        () -> assertThat(gateway.backend("orders").bulkhead().maxConcurrentCalls())
                                .isEqualTo(limit.limit().value()));
    }

    @Test
    void holdsAnOperatorsLimitUntilItIsReleased() throws Exception {
        gateway.bean(BulkheadRegistry.class).bulkhead("orders").changeConfig(config(1));
        int learnt = gateway.backend("orders").limit().beliefs().limit();

        overload(Door.COMPILED, .5).forEach(CompletableFuture::join);

        assertThat(gateway.backend("orders").bulkhead().maxConcurrentCalls()).isOne();
        assertThat(gateway.backend("orders").limit().beliefs().limit()).isEqualTo(learnt);
        gateway.bean(BulkheadRegistry.class).bulkhead("orders").changeConfig(config(QueueingBulkhead.LARGEST));
        assertThat(gateway.backend("orders").bulkhead().maxConcurrentCalls()).isEqualTo(learnt);
    }

    /**
     * Callers that each wait for their answer, and a service that takes longer than a call may wait.
     * {@link LimitCases} has them in virtual time.
     */
    @Test
    @Tag("full")
    void growsInTimeForASlowBackendWhoseAnswersShowNoQueue() throws Exception {
        AtomicInteger answered = new AtomicInteger();
        AtomicInteger lost = new AtomicInteger();
        try (TestBackend slow = TestBackend.start((request, conversation) -> {
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1_200));
                    conversation.answer(200, "done");
                });
                TestGateway defaults = TestGateway.setup()
                        .backend("slow", slow.uri(), "deadline: 2s", "bulkhead: {}")
                        .route("slow", "slow")
                        .start();
                ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> loops = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                loops.add(callers.submit(() -> {
                    while (answered.get() <= 60) {
                        boolean isAnswered = TestCaller.get(defaults.port(), Door.COMPILED.path("slow", "1"))
                                        .status()
                                == 200;
                        (isAnswered ? answered : lost).incrementAndGet();
                        LockSupport.parkNanos(isAnswered ? 0 : TimeUnit.MILLISECONDS.toNanos(10));
                    }
                    return null;
                }));
            }
            for (Future<?> loop : loops) {
                loop.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            }

            // With a limit that waits for its windows, more are refused than answered.
            assertThat(lost).as("refused; %s answered", answered).hasValueLessThanOrEqualTo(20);
        }
    }

    /** Short calls are usual; then longer ones hold all permits, and none of them ends. */
    @Door.Any
    void sendsMoreCallsBeforeLongerOnesEnd(Door door) throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        List<CompletableFuture<TestCaller.Answer>> answers = new ArrayList<>();
        try (TestBackend mixed = TestBackend.start((request, conversation) -> {
                    if (request.target().endsWith("long")) {
                        end.await();
                    }
                    conversation.answer(200, "done");
                });
                TestGateway defaults = TestGateway.setup()
                        .backend("mixed", mixed.uri(), "deadline: 60s", "bulkhead: {}")
                        .route("mixed", "mixed")
                        .start()) {
            for (int i = 0; i < 100; i++) {
                TestCaller.get(defaults.port(), door.path("mixed", "short"));
            }
            Limit limit = defaults.backend("mixed").limit().limit();
            int before = limit.value();
            for (int i = 0; i < before; i++) {
                answers.add(TestCaller.ask(defaults.port(), door.path("mixed", "long")));
            }

            await().atMost(PATIENCE).until(() -> {
                answers.add(TestCaller.ask(defaults.port(), door.path("mixed", "long")));
                return limit.value() > before;
            });

            assertThat(limit.changes(Change.GROWTH)).isPositive();
            end.countDown();
            assertThat(outcomes(answers)).isEqualTo(Map.of("200", answers.size()));
            defaults.assertNothingHeld();
        }
    }

    private static BulkheadConfig config(int calls) {
        return BulkheadConfig.custom()
                .maxConcurrentCalls(calls)
                .maxWaitDuration(Duration.ZERO)
                .build();
    }

    /** Four times as many calls per second as the backend can serve; the caller does not wait for answers. */
    private List<CompletableFuture<TestCaller.Answer>> overload(Door door, double seconds) {
        List<CompletableFuture<TestCaller.Answer>> answers = new ArrayList<>();
        long begin = System.nanoTime();
        int calls = (int) (4 * CAPACITY * seconds);
        for (int i = 0; i < calls; i++) {
            long due = begin + (long) (i * 1e9 / (4 * CAPACITY));
            while (System.nanoTime() - due < 0) {
                LockSupport.parkNanos(due - System.nanoTime());
            }
            answers.add(TestCaller.ask(gateway.port(), door.path("orders", "overload")));
        }
        return answers;
    }

    /** The number of answers by status, and of refusals by reason. */
    private static Map<String, Integer> outcomes(List<CompletableFuture<TestCaller.Answer>> answers) {
        Map<String, Integer> outcomes = new TreeMap<>();
        for (CompletableFuture<TestCaller.Answer> asked : answers) {
            TestCaller.Answer answer = asked.exceptionally(reset -> null).join();
            if (answer == null) {
                outcomes.merge(RESET, 1, Integer::sum);
                continue;
            }
            outcomes.merge(answer.status() == 200 ? "200" : answer.reason(), 1, Integer::sum);
            if (answer.status() == 503) {
                assertThat(answer.header("retry-after")).isNotNull();
            }
        }
        return outcomes;
    }
}
