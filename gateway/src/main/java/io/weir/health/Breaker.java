package io.weir.health;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import io.github.resilience4j.circuitbreaker.IllegalStateTransitionException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A backend's circuit breaker: Resilience4j's state machine, extended by the count of overdue calls, by
 * probes and by states that an operator forces.
 *
 * <p>A permission that was {@linkplain #acquire acquired} is returned exactly once: by {@link #succeeded},
 * {@link #failed} or {@link #ignored}. All methods may be called from any thread, and none blocks.
 */
public final class Breaker {

    /** The result of {@link #acquire}. */
    public enum Permission {
        /** An ordinary call. */
        CALL,
        /** A call that tests whether the backend has recovered. */
        PROBE,
        /** No permission. */
        REFUSED
    }

    private final CircuitBreaker breaker;
    private final Recovery recovery;
    private final boolean callersProbe;
    private final long slowNanos;
    private final Duration probeInterval;
    private final LongSupplier nanoClock;
    private final AtomicInteger overdue = new AtomicInteger();
    /**
     * The generation (upper half) and the number of its overdue calls (lower half). They share one word,
     * since a new generation resets the number.
     */
    private final AtomicLong generationWord = new AtomicLong();

    private volatile Runnable whenOpened = () -> {};
    /**
     * The state that an operator forced; null: none. It overrides Resilience4j's state, which follows it:
     * Resilience4j may execute a transition that it decided before the operator's. Written with this object's
     * monitor held.
     */
    private volatile @Nullable State forced;

    /**
     * A breaker around Resilience4j's.
     *
     * @param breaker Resilience4j's breaker, with the configuration of {@link BreakerConfigs}
     * @param properties the rate of probes
     * @param nanoClock {@link System#nanoTime}, except in tests
     * @param random 0 (inclusive) to 1 (exclusive); jitters the probes
     */
    public Breaker(
            CircuitBreaker breaker, RecoveryProperties properties, LongSupplier nanoClock, DoubleSupplier random) {
        this.breaker = breaker;
        this.recovery = new Recovery(properties.probeInterval(), properties.maxProbes(), random);
        this.probeInterval = properties.probeInterval();
        this.callersProbe = properties.healthPath() == null;
        this.slowNanos =
                breaker.getCircuitBreakerConfig().getSlowCallDurationThreshold().toNanos();
        this.nanoClock = nanoClock;
        breaker.getEventPublisher().onStateTransition(event -> {
            State to = event.getStateTransition().getToState();
            if (to == State.OPEN || to == State.FORCED_OPEN) {
                generationWord.updateAndGet(word -> (long) (generation(word) + 1) << Integer.SIZE);
            }
            if (forced != null) {
                restoreForced();
            } else if (to == State.OPEN) {
                recovery.opened(nanoClock.getAsLong());
                whenOpened.run();
            }
        });
    }

    /**
     * Sets the action to run after each opening; it replaces the previous action. Resilience4j's listeners
     * only add up.
     */
    public void whenOpened(Runnable action) {
        whenOpened = action;
    }

    /**
     * Takes over the state of a predecessor that differs only in derived figures: open stays open, and a
     * forced state stays forced. The window is empty.
     */
    public void inheritState(Breaker predecessor) {
        State state = predecessor.state();
        if (state == State.OPEN || state == State.HALF_OPEN) {
            // A half-open breaker without recorded calls equals an open one whose probe is due soon.
            breaker.transitionToOpenState();
        }
        inheritForcedState(predecessor);
    }

    /** Takes over only a forced state, from a predecessor with other settings. */
    public void inheritForcedState(Breaker predecessor) {
        switch (predecessor.state()) {
            case CLOSED, OPEN, HALF_OPEN -> {}
            case FORCED_OPEN -> forceOpen();
            case DISABLED, METRICS_ONLY -> forceClosed();
        }
    }

    /**
     * Whether a call would be permitted now. Takes no permission. Used before a call enters the queue, so
     * that no call waits for a permit only to be refused. A refusal counts in Resilience4j's {@code
     * not_permitted_calls}.
     */
    public boolean permits(long nowNanos) {
        State state = state();
        if (state == State.CLOSED || state == State.HALF_OPEN || state == State.DISABLED) {
            return true;
        }
        if (state == State.OPEN && callersProbe && recovery.isDue(nowNanos)) {
            return true;
        }
        if (!tryAcquire(state)) {
            return false;
        }
        // tryAcquire has just half-opened the breaker, or an operator's state is about to take effect.
        breaker.releasePermission();
        return state != State.FORCED_OPEN;
    }

    /** Acquires the permission for a call that is about to be dispatched. */
    public Permission acquire(long nowNanos) {
        State state = state();
        if (state == State.OPEN && callersProbe && recovery.tryStart(nowNanos)) {
            return Permission.PROBE;
        }
        if (state == State.DISABLED) {
            return Permission.CALL;
        }
        return tryAcquire(state) && state != State.FORCED_OPEN ? Permission.CALL : Permission.REFUSED;
    }

    /** Acquires the permission for a probe of the health path, if a probe is due. */
    public boolean acquireHealthProbe(long nowNanos) {
        return state() == State.OPEN && recovery.tryStart(nowNanos);
    }

    /**
     * Records a successful call.
     *
     * @param backendNanos the time that the call spent in the backend
     */
    public void succeeded(Permission permission, long backendNanos) {
        if (permission == Permission.CALL) {
            breaker.onSuccess(backendNanos, TimeUnit.NANOSECONDS);
            return;
        }
        recovery.ended();
        if (backendNanos < slowNanos && halfOpen() && breaker.tryAcquirePermission()) {
            // The probe is the first of the calls that decide the half-open state.
            breaker.onSuccess(backendNanos, TimeUnit.NANOSECONDS);
        }
    }

    /**
     * Records a failed call.
     *
     * @param backendNanos the time that the call spent in the backend
     */
    public void failed(Permission permission, long backendNanos, BackendFailure failure) {
        if (permission == Permission.CALL) {
            breaker.onError(backendNanos, TimeUnit.NANOSECONDS, failure);
        } else {
            // A failed probe changes no state: the breaker is open, or a later probe has half-opened it.
            recovery.ended();
        }
    }

    /** Ends a call whose result says nothing about the backend. */
    public void ignored(Permission permission) {
        if (permission == Permission.CALL) {
            breaker.releasePermission();
        } else {
            recovery.ended();
        }
    }

    /** The number of openings so far. Each call remembers the generation in which it was admitted. */
    public int generation() {
        return generation(generationWord.get());
    }

    /**
     * Whether to ignore the result of a call that was admitted in an earlier generation: such calls have
     * already opened the breaker, and later calls have shown that the backend has recovered. While the
     * breaker is open, such a result changes no state and is recorded in Resilience4j's figures.
     */
    public boolean isOutdated(int admittedGeneration) {
        return admittedGeneration != generation() && state() != State.OPEN;
    }

    private static int generation(long word) {
        return (int) (word >>> Integer.SIZE);
    }

    /** The slow-call threshold: calls that take longer are slow. */
    public long slowNanos() {
        return slowNanos;
    }

    /**
     * Counts a call under way that has exceeded the slow-call threshold. {@link #overdueEnded} must follow
     * exactly once, when the call ends.
     *
     * <p>The overdue calls of the current {@linkplain #generation() generation} will be recorded as slow
     * calls. If with them the slow-call rate reaches its threshold, the breaker opens.
     *
     * @param admittedGeneration the generation in which the call was admitted
     */
    public void overdueBegan(int admittedGeneration) {
        overdue.incrementAndGet();
        long now = generationWord.updateAndGet(word -> generation(word) == admittedGeneration ? word + 1 : word);
        if (generation(now) == admittedGeneration
                && state() == State.CLOSED
                && slowRate((int) now) >= config().getSlowCallRateThreshold()) {
            try {
                breaker.transitionToOpenState();
            } catch (IllegalStateTransitionException e) {
                // Another thread has changed the state since: its change wins.
            }
        }
    }

    /**
     * Ends an overdue call.
     *
     * @param admittedGeneration as for {@link #overdueBegan}
     */
    public void overdueEnded(int admittedGeneration) {
        overdue.decrementAndGet();
        generationWord.updateAndGet(word -> generation(word) == admittedGeneration && (int) word > 0 ? word - 1 : word);
    }

    /** The slow-call rate in percent as if the overdue calls had ended now; -1 if there are too few calls. */
    private float slowRate(int overdueNow) {
        CircuitBreaker.Metrics metrics = breaker.getMetrics();
        int calls = metrics.getNumberOfBufferedCalls() + overdueNow;
        if (calls < config().getMinimumNumberOfCalls()) {
            return -1;
        }
        if (config().getSlidingWindowType() == SlidingWindowType.COUNT_BASED) {
            // The overdue calls would push the oldest calls out of the window.
            calls = Math.min(calls, config().getSlidingWindowSize());
        }
        int slow = Math.min(metrics.getNumberOfSlowCalls() + overdueNow, calls);
        return 100f * slow / calls;
    }

    /** Time until the next probe; zero if the breaker is not open, or if a probe is due. */
    public long nanosToNextProbe() {
        return state() == State.OPEN ? recovery.nanosToNextProbe(nanoClock.getAsLong()) : 0;
    }

    /** Time between two probes, without the jitter. */
    public Duration probeInterval() {
        return probeInterval;
    }

    /** Probes under way. */
    public int probesUnderWay() {
        return recovery.underWay();
    }

    /** Calls under way that have exceeded the slow-call threshold. */
    public int overdue() {
        return overdue.get();
    }

    /** The state that an operator forced; otherwise Resilience4j's state. */
    public State state() {
        State forced = this.forced;
        return forced == null ? breaker.getState() : forced;
    }

    /** Forces the breaker open: it refuses every call until {@linkplain #release() released}. */
    public void forceOpen() {
        force(State.FORCED_OPEN);
    }

    /**
     * Forces the breaker closed: it permits every call and cannot open until {@linkplain #release()
     * released}.
     */
    public void forceClosed() {
        force(State.DISABLED);
    }

    /** Ends a forced state. The breaker is then closed, with an empty window. */
    public void release() {
        force(null);
    }

    private synchronized void force(@Nullable State state) {
        forced = state;
        transitionTo(state == null ? State.CLOSED : state);
    }

    /** Restores the forced state after any other transition of Resilience4j's breaker. */
    private synchronized void restoreForced() {
        State state = forced;
        if (state != null && state != breaker.getState()) {
            transitionTo(state);
        }
    }

    private void transitionTo(State to) {
        switch (to) {
            case FORCED_OPEN -> breaker.transitionToForcedOpenState();
            case DISABLED -> breaker.transitionToDisabledState();
            default -> breaker.transitionToClosedState();
        }
    }

    /** Resilience4j's breaker. */
    public CircuitBreaker resilience4j() {
        return breaker;
    }

    /** Resilience4j's permission. Asking an open breaker may half-open it. */
    private boolean tryAcquire(State state) {
        if (state != State.OPEN) {
            return breaker.tryAcquirePermission();
        }
        synchronized (this) {
            return breaker.tryAcquirePermission();
        }
    }

    /**
     * Half-opens the breaker. Synchronized: one transition at a time, and none together with an operator's.
     * Resilience4j starts the timer that ends a half-open state before it knows whether the transition
     * succeeds, and does not cancel it if the transition fails. If two probes half-opened the breaker at
     * once, the timer of the second would open the breaker long after the first had closed it.
     *
     * @return whether the breaker is half-open now
     */
    private synchronized boolean halfOpen() {
        if (state() == State.OPEN) {
            try {
                breaker.transitionToHalfOpenState();
            } catch (IllegalStateTransitionException e) {
                // Another probe has half-opened the breaker.
            }
        }
        return state() == State.HALF_OPEN;
    }

    private CircuitBreakerConfig config() {
        return breaker.getCircuitBreakerConfig();
    }
}
