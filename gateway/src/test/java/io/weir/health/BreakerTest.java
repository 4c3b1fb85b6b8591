package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import io.github.resilience4j.circuitbreaker.internal.SchedulerFactory;
import io.weir.health.Breaker.Permission;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BreakerTest {

    private static final long FAST = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long SLOW = TimeUnit.MILLISECONDS.toNanos(400);
    private static final long INTERVAL = TimeUnit.MILLISECONDS.toNanos(200);
    private final BackendFailure failure = new BackendFailure("connection-lost");

    private final AtomicLong clock = new AtomicLong();

    /**
     * A window of 20 calls, a minimum of 10, 5 calls in the half-open state, probes every 200 ms without
     * jitter.
     */
    private static CircuitBreaker resilience4j() {
        return resilience4j(Duration.ofSeconds(5));
    }

    private static CircuitBreaker resilience4j(Duration halfOpen) {
        CircuitBreakerProperties properties = new CircuitBreakerProperties(
                50,
                50,
                Duration.ofMillis(400),
                SlidingWindowType.COUNT_BASED,
                20,
                10,
                5,
                Duration.ofMinutes(10),
                halfOpen,
                Set.of(500),
                Set.of(14),
                true);
        return CircuitBreaker.of("orders", BreakerConfigs.of(properties, Duration.ofMillis(800), 20));
    }

    private Breaker breaker(@Nullable String healthPath) {
        return breaker(resilience4j(), healthPath);
    }

    private Breaker breaker(CircuitBreaker resilience4j, @Nullable String healthPath) {
        return new Breaker(
                resilience4j, new RecoveryProperties(Duration.ofNanos(INTERVAL), 2, healthPath), clock::get, () -> 0.5);
    }

    private Breaker opened(@Nullable String healthPath) {
        Breaker breaker = breaker(healthPath);
        fail(breaker, 10);
        assertThat(breaker.state()).isEqualTo(State.OPEN);
        return breaker;
    }

    private void fail(Breaker breaker, int calls) {
        for (int i = 0; i < calls; i++) {
            breaker.failed(breaker.acquire(clock.get()), FAST, failure);
        }
    }

    private void succeed(Breaker breaker, int calls) {
        for (int i = 0; i < calls; i++) {
            breaker.succeeded(breaker.acquire(clock.get()), FAST);
        }
    }

    @Test
    void opensAtTheFailureRateThreshold() {
        Breaker breaker = breaker(null);
        succeed(breaker, 5);
        fail(breaker, 4);
        assertThat(breaker.state()).isEqualTo(State.CLOSED);

        fail(breaker, 1);

        assertThat(breaker.state()).isEqualTo(State.OPEN);
        assertThat(breaker.permits(clock.get())).isFalse();
        assertThat(breaker.acquire(clock.get())).isEqualTo(Permission.REFUSED);
    }

    @Test
    void doesNotRecordIgnoredCalls() {
        Breaker breaker = breaker(null);
        for (int i = 0; i < 100; i++) {
            breaker.ignored(breaker.acquire(clock.get()));
        }

        assertThat(breaker.resilience4j().getMetrics().getNumberOfBufferedCalls())
                .isZero();
        assertThat(breaker.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void countsRefusalsAsNotPermittedCalls() {
        Breaker breaker = opened(null);

        breaker.permits(clock.get());
        breaker.permits(clock.get());

        assertThat(breaker.resilience4j().getMetrics().getNumberOfNotPermittedCalls())
                .isEqualTo(2);
    }

    @Test
    void opensWhileCallsHangOnceEnoughAreOverdue() {
        Breaker breaker = breaker(null);
        succeed(breaker, 20);
        for (int i = 0; i < 20; i++) {
            breaker.acquire(clock.get());
        }

        for (int i = 0; i < 9; i++) {
            breaker.overdueBegan(breaker.generation());
        }
        assertThat(breaker.state()).isEqualTo(State.CLOSED);
        breaker.overdueBegan(breaker.generation());

        assertThat(breaker.state()).isEqualTo(State.OPEN);
    }

    @Test
    void doesNotOpenOnFewerOverdueCallsThanTheMinimum() {
        Breaker breaker = breaker(null);
        for (int i = 0; i < 9; i++) {
            breaker.overdueBegan(breaker.generation());
        }
        assertThat(breaker.state()).isEqualTo(State.CLOSED);

        for (int i = 0; i < 9; i++) {
            breaker.overdueEnded(breaker.generation());
        }
        assertThat(breaker.overdue()).isZero();
    }

    @Test
    void doesNotOpenOnOverdueCallsWhileForcedClosed() {
        Breaker breaker = breaker(null);
        breaker.forceClosed();
        for (int i = 0; i < 50; i++) {
            breaker.overdueBegan(breaker.generation());
        }
        fail(breaker, 100);

        assertThat(breaker.permits(clock.get())).isTrue();
        breaker.release();
        assertThat(breaker.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void permitsOneProbePerInterval() {
        Breaker breaker = opened(null);
        clock.set(INTERVAL - 1);
        assertThat(breaker.permits(clock.get())).isFalse();
        assertThat(breaker.nanosToNextProbe()).isEqualTo(1);

        clock.set(INTERVAL);
        assertThat(breaker.permits(clock.get())).isTrue();
        assertThat(breaker.acquire(clock.get())).isEqualTo(Permission.PROBE);
        assertThat(breaker.acquire(clock.get())).isEqualTo(Permission.REFUSED);

        clock.set(2 * INTERVAL);
        assertThat(breaker.acquire(clock.get())).isEqualTo(Permission.PROBE);
        assertThat(breaker.probesUnderWay()).isEqualTo(2);
    }

    @Test
    void limitsConcurrentProbes() {
        Breaker breaker = opened(null);
        clock.set(INTERVAL);
        Permission first = breaker.acquire(clock.get());
        clock.set(2 * INTERVAL);
        breaker.acquire(clock.get());
        clock.set(3 * INTERVAL);
        assertThat(breaker.permits(clock.get())).isFalse();
        assertThat(breaker.acquire(clock.get())).isEqualTo(Permission.REFUSED);

        breaker.ignored(first);

        assertThat(breaker.permits(clock.get())).isTrue();
    }

    @Test
    void halfOpensOnTheFirstSuccessfulProbeAndClosesAtTheThreshold() {
        Breaker breaker = opened(null);
        clock.set(INTERVAL);
        breaker.succeeded(breaker.acquire(clock.get()), FAST);
        assertThat(breaker.state()).isEqualTo(State.HALF_OPEN);

        succeed(breaker, 3);
        assertThat(breaker.state()).isEqualTo(State.HALF_OPEN);
        succeed(breaker, 1);

        assertThat(breaker.state()).isEqualTo(State.CLOSED);
        assertThat(breaker.probesUnderWay()).isZero();
    }

    @Test
    void limitsCallsWhileHalfOpen() {
        Breaker breaker = opened(null);
        clock.set(INTERVAL);
        breaker.succeeded(breaker.acquire(clock.get()), FAST);

        int permitted = 0;
        for (int i = 0; i < 100; i++) {
            if (breaker.acquire(clock.get()) == Permission.CALL) {
                permitted++;
            }
        }

        // The probe counts as the first of five.
        assertThat(permitted).isEqualTo(4);
    }

    @Test
    void opensAgainWhenHalfOpenCallsFail() {
        Breaker breaker = opened(null);
        clock.set(INTERVAL);
        breaker.succeeded(breaker.acquire(clock.get()), FAST);
        fail(breaker, 4);

        assertThat(breaker.state()).isEqualTo(State.OPEN);
        assertThat(breaker.nanosToNextProbe()).isEqualTo(INTERVAL);
    }

    @Test
    void staysOpenAfterFailedOrSlowProbes() {
        Breaker breaker = opened(null);
        clock.set(INTERVAL);
        breaker.failed(breaker.acquire(clock.get()), FAST, failure);
        clock.set(2 * INTERVAL);
        breaker.succeeded(breaker.acquire(clock.get()), SLOW);

        assertThat(breaker.state()).isEqualTo(State.OPEN);
        assertThat(breaker.probesUnderWay()).isZero();
    }

    @Test
    void ignoresAnOldProbeThatFailsAfterRecovery() {
        Breaker breaker = opened(null);
        clock.set(INTERVAL);
        Permission hung = breaker.acquire(clock.get());
        clock.set(2 * INTERVAL);
        breaker.succeeded(breaker.acquire(clock.get()), FAST);
        succeed(breaker, 4);

        breaker.failed(hung, SLOW, failure);

        assertThat(breaker.state()).isEqualTo(State.CLOSED);
        assertThat(breaker.resilience4j().getMetrics().getNumberOfFailedCalls()).isZero();
    }

    /** Calls that were caught in a hang end long after the backend has recovered. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void ignoresCallsThatWereAdmittedBeforeTheLastOpening(boolean closed) {
        Breaker breaker = breaker(null);
        int admittedGeneration = breaker.generation();
        for (int i = 0; i < 20; i++) {
            breaker.acquire(clock.get());
            breaker.overdueBegan(admittedGeneration);
        }
        assertThat(breaker.state()).isEqualTo(State.OPEN);
        assertThat(breaker.isOutdated(admittedGeneration))
                .as("recorded while the breaker is open")
                .isFalse();

        clock.set(INTERVAL);
        breaker.succeeded(breaker.acquire(clock.get()), FAST);
        succeed(breaker, closed ? 13 : 1);

        assertThat(breaker.state()).isEqualTo(closed ? State.CLOSED : State.HALF_OPEN);
        assertThat(breaker.isOutdated(admittedGeneration)).isTrue();
        assertThat(breaker.isOutdated(breaker.generation())).isFalse();
        assertThat(breaker.overdue()).as("overdue calls under way").isEqualTo(20);
        breaker.overdueBegan(breaker.generation());
        assertThat(breaker.state()).as("after one slow call in ten").isNotEqualTo(State.OPEN);
        for (int i = 0; i < 20; i++) {
            breaker.overdueEnded(admittedGeneration);
        }
        breaker.overdueEnded(breaker.generation());
        assertThat(breaker.overdue()).isZero();
    }

    @Test
    void leavesHalfOpenEvenIfMostCallsAreIgnored() {
        Breaker breaker = opened(null);
        clock.set(INTERVAL);
        breaker.succeeded(breaker.acquire(clock.get()), FAST);
        for (int i = 0; i < 50; i++) {
            breaker.ignored(breaker.acquire(clock.get()));
        }

        succeed(breaker, 4);

        assertThat(breaker.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void isNotOpenedByTheTimerOfASecondConcurrentProbe() throws Exception {
        Duration halfOpen = Duration.ofSeconds(3);
        AtomicInteger reopened = new AtomicInteger();
        try (ExecutorService loops = Executors.newFixedThreadPool(2)) {
            for (int i = 0; i < 500; i++) {
                Breaker breaker = breaker(resilience4j(halfOpen), null);
                fail(breaker, 10);
                Permission first = breaker.acquire(clock.addAndGet(INTERVAL));
                Permission second = breaker.acquire(clock.addAndGet(INTERVAL));
                assertThat(List.of(first, second)).containsOnly(Permission.PROBE);
                CyclicBarrier together = new CyclicBarrier(2);

                Future<?> other = loops.submit(() -> succeedTogether(breaker, first, together));
                loops.submit(() -> succeedTogether(breaker, second, together)).get(20, TimeUnit.SECONDS);
                other.get(20, TimeUnit.SECONDS);
                succeed(breaker, 5);

                assertThat(breaker.state()).isEqualTo(State.CLOSED);
                breaker.whenOpened(reopened::incrementAndGet);
            }
        }
        // The scheduler has one thread: it runs this task after the breakers' timers.
        SchedulerFactory.getInstance()
                .getScheduler()
                .schedule(() -> {}, halfOpen.toMillis(), TimeUnit.MILLISECONDS)
                .get(20, TimeUnit.SECONDS);

        assertThat(reopened).hasValue(0);
    }

    private static Void succeedTogether(Breaker breaker, Permission probe, CyclicBarrier together) throws Exception {
        together.await(20, TimeUnit.SECONDS);
        breaker.succeeded(probe, FAST);
        return null;
    }

    @Test
    void permitsNoCallAsProbeIfAHealthPathIsConfigured() {
        Breaker breaker = opened("/health");
        clock.set(INTERVAL);
        assertThat(breaker.permits(clock.get())).isFalse();
        assertThat(breaker.acquire(clock.get())).isEqualTo(Permission.REFUSED);

        assertThat(breaker.acquireHealthProbe(clock.get())).isTrue();
        breaker.succeeded(Permission.PROBE, FAST);

        assertThat(breaker.state()).isEqualTo(State.HALF_OPEN);
    }

    @Test
    void refusesEverythingWhileForcedOpen() {
        Breaker breaker = breaker(null);
        breaker.forceOpen();
        clock.set(10 * INTERVAL);

        assertThat(breaker.permits(clock.get())).isFalse();
        assertThat(breaker.acquire(clock.get())).isEqualTo(Permission.REFUSED);

        breaker.release();
        assertThat(breaker.acquire(clock.get())).isEqualTo(Permission.CALL);
    }

    @Test
    void staysForcedClosedIfForcedWhileOverdueCallsOpenIt() {
        AtomicReference<Runnable> operator = new AtomicReference<>(() -> {});
        AtomicInteger opened = new AtomicInteger();
        Breaker breaker = breaker(before("transitionToOpenState", operator, resilience4j()), null);
        breaker.whenOpened(opened::incrementAndGet);
        operator.set(breaker::forceClosed);

        for (int i = 0; i < 10; i++) {
            breaker.overdueBegan(breaker.generation());
        }

        assertForced(breaker, false);
        assertThat(opened).hasValue(0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void staysForcedIfForcedWhileAProbeHalfOpensIt(boolean open) {
        AtomicReference<Runnable> operator = new AtomicReference<>(() -> {});
        Breaker breaker = breaker(before("transitionToHalfOpenState", operator, resilience4j()), null);
        fail(breaker, 10);
        clock.set(INTERVAL);
        Permission probe = breaker.acquire(clock.get());
        assertThat(probe).isEqualTo(Permission.PROBE);
        operator.set(() -> force(breaker, open));

        breaker.succeeded(probe, FAST);

        assertForced(breaker, open);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void staysForcedIfForcedWhileResilience4jOpensIt(boolean open) {
        Breaker breaker = breaker(null);
        // Resilience4j has decided on a transition, but not executed it yet.
        breaker.resilience4j().getEventPublisher().onFailureRateExceeded(event -> force(breaker, open));

        fail(breaker, 10);

        assertForced(breaker, open);
    }

    @ParameterizedTest
    @CsvSource({"true, CLOSED", "true, HALF_OPEN", "true, OPEN", "false, CLOSED", "false, HALF_OPEN", "false, OPEN"})
    void hidesATransitionThatFollowsAForcedState(boolean open, State late) {
        CircuitBreaker resilience4j = resilience4j();
        AtomicReference<Breaker> observed = new AtomicReference<>();
        List<State> resilience4jStates = new ArrayList<>();
        List<Answer> answers = new ArrayList<>();
        // This listener runs before the breaker's own.
        resilience4j.getEventPublisher().onStateTransition(event -> {
            resilience4jStates.add(resilience4j.getState());
            answers.add(query(observed.get()));
        });
        Breaker breaker = breaker(resilience4j, null);
        observed.set(breaker);

        force(breaker, open);
        switch (late) {
            case CLOSED -> resilience4j.transitionToClosedState();
            case HALF_OPEN -> resilience4j.transitionToHalfOpenState();
            default -> resilience4j.transitionToOpenState();
        }

        State forced = open ? State.FORCED_OPEN : State.DISABLED;
        assertThat(resilience4jStates).containsExactly(forced, late, forced);
        assertThat(answers).hasSize(3).containsOnly(open ? REFUSES : SERVES);
        assertForced(breaker, open);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void inheritsAForcedState(boolean open) {
        Breaker first = breaker(null);
        Breaker second = breaker(null);
        Breaker third = breaker(null);
        force(first, open);

        second.inheritState(first);
        third.inheritForcedState(second);

        assertForced(second, open);
        assertForced(third, open);
        third.release();
        assertThat(third.state()).isEqualTo(State.CLOSED);
        assertForced(second, open);
    }

    @Test
    void followsResilience4jAfterRelease() {
        Breaker breaker = breaker(null);
        breaker.forceClosed();
        breaker.resilience4j().transitionToOpenState();

        breaker.release();

        assertThat(breaker.state()).isEqualTo(State.CLOSED);
        fail(breaker, 10);
        assertThat(breaker.state()).isEqualTo(State.OPEN);
    }

    private static void force(Breaker breaker, boolean open) {
        if (open) {
            breaker.forceOpen();
        } else {
            breaker.forceClosed();
        }
    }

    private void assertForced(Breaker breaker, boolean open) {
        assertThat(breaker.resilience4j().getState()).isEqualTo(open ? State.FORCED_OPEN : State.DISABLED);
        assertThat(query(breaker)).isEqualTo(open ? REFUSES : SERVES);
    }

    /** The breaker's answers to a call, and to a health probe much later. */
    private record Answer(State state, boolean permits, Permission acquired, boolean probes) {}

    private static final Answer SERVES = new Answer(State.DISABLED, true, Permission.CALL, false);
    private static final Answer REFUSES = new Answer(State.FORCED_OPEN, false, Permission.REFUSED, false);

    private Answer query(Breaker breaker) {
        return new Answer(
                breaker.state(),
                breaker.permits(clock.get()),
                breaker.acquire(clock.get()),
                breaker.acquireHealthProbe(clock.get() + 10 * INTERVAL));
    }

    /** A proxy of a breaker that runs an action just before one of its methods. */
    private static CircuitBreaker before(String method, AtomicReference<Runnable> action, CircuitBreaker breaker) {
        return (CircuitBreaker) Proxy.newProxyInstance(
                CircuitBreaker.class.getClassLoader(),
                new Class<?>[] {CircuitBreaker.class},
                (proxy, called, arguments) -> {
                    if (called.getName().equals(method)) {
                        action.get().run();
                    }
                    return called.invoke(breaker, arguments);
                });
    }

    @Test
    void jittersTheIntervalByATenth() {
        Recovery early = new Recovery(Duration.ofMillis(100), 1, () -> 0);
        Recovery late = new Recovery(Duration.ofMillis(100), 1, () -> 1);
        early.opened(0);
        late.opened(0);

        assertThat(early.nanosToNextProbe(0)).isEqualTo(90_000_000);
        assertThat(late.nanosToNextProbe(0)).isEqualTo(110_000_000);
    }
}
