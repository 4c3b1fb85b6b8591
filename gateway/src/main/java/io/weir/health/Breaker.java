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
 * A backend's circuit breaker: Resilience4j's state machine, with calls counted while they are under way and recovery
 * looked for.
 *
 * <p>Who {@linkplain #acquire acquires} a permission gives it back exactly once: by {@link #succeeded}, {@link #failed}
 * or {@link #ignored}. Callable from any thread; nothing blocks.
 */
public final class Breaker {

    /** What {@link #acquire} gave. */
    public enum Permission {
        /** An ordinary call. */
        CALL,
        /** A call that finds out whether the backend is back. */
        PROBE,
        /** None. */
        REFUSED
    }

    private final CircuitBreaker breaker;
    private final Recovery recovery;
    private final boolean callersProbe;
    private final long slowNanos;
    private final Duration probeInterval;
    private final LongSupplier nanoClock;
    private final AtomicInteger overdue = new AtomicInteger();
    /** The era, and how many calls that were let in in it are overdue: in one word, since an era's end takes the calls with it. */
    private final AtomicLong era = new AtomicLong();

    private volatile Runnable whenOpened = () -> {};
    /**
     * The state that an operator forced, null if none. It is what counts; Resilience4j's follows it, since a transition of its own that
     * was decided before may come behind the operator's, and Resilience4j lets it. Written with this one's monitor held.
     */
    private volatile @Nullable State forced;

    /**
     * A breaker around Resilience4j's.
     *
     * @param breaker Resilience4j's, with the configuration of {@link BreakerConfigs}
     * @param properties the trickle
     * @param nanoClock {@link System#nanoTime} but for tests
     * @param random from 0 to 1
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
                era.updateAndGet(now -> (long) (era(now) + 1) << Integer.SIZE);
            }
            if (forced != null) {
                keepForced();
            } else if (to == State.OPEN) {
                recovery.opened(nanoClock.getAsLong());
                whenOpened.run();
            }
        });
    }

    /** What to do each time that it has opened, in place of what was to do before; Resilience4j forgets no listener. */
    public void whenOpened(Runnable action) {
        whenOpened = action;
    }

    /**
     * Takes the state over from a breaker with the same settings, of which this one's derive other figures: open stays
     * open, and what an operator forced stays forced. The window is empty.
     */
    public void continueFrom(Breaker predecessor) {
        State state = predecessor.state();
        if (state == State.OPEN || state == State.HALF_OPEN) {
            // Half-open with no call counted is open with a probe soon.
            breaker.transitionToOpenState();
        }
        stayForced(predecessor);
    }

    /** Takes over only what an operator forced, from a breaker with other settings. */
    public void stayForced(Breaker predecessor) {
        switch (predecessor.state()) {
            case CLOSED, OPEN, HALF_OPEN -> {}
            case FORCED_OPEN -> forceOpen();
            case DISABLED, METRICS_ONLY -> forceClosed();
        }
    }

    /**
     * Whether a call would be let through now, without taking anything: asked before queueing, so that nobody waits
     * for a permit only to be refused. A refusal counts in Resilience4j's {@code not_permitted_calls}.
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
        // Open for long enough to have half-opened just now, or on its way to what an operator forced.
        breaker.releasePermission();
        return state != State.FORCED_OPEN;
    }

    /** Takes the permission for a call that is about to be dispatched. */
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

    /** Takes the permission for one of the gateway's own probes, if one is due. */
    public boolean acquireHealthProbe(long nowNanos) {
        return state() == State.OPEN && recovery.tryStart(nowNanos);
    }

    /** The backend answered, within this time of its own. */
    public void succeeded(Permission permission, long backendNanos) {
        if (permission == Permission.CALL) {
            breaker.onSuccess(backendNanos, TimeUnit.NANOSECONDS);
            return;
        }
        recovery.ended();
        if (backendNanos < slowNanos && halfOpen() && breaker.tryAcquirePermission()) {
            // The probe is the first of the calls that half-open decides by.
            breaker.onSuccess(backendNanos, TimeUnit.NANOSECONDS);
        }
    }

    /** The backend failed, after this time of its own. */
    public void failed(Permission permission, long backendNanos, BackendFailure failure) {
        if (permission == Permission.CALL) {
            breaker.onError(backendNanos, TimeUnit.NANOSECONDS, failure);
        } else {
            // A probe that fails changes nothing: the breaker is open, or was half-opened by a later one.
            recovery.ended();
        }
    }

    /** The call says nothing about the backend. */
    public void ignored(Permission permission) {
        if (permission == Permission.CALL) {
            breaker.releasePermission();
        } else {
            recovery.ended();
        }
    }

    /** The time between two openings, by a number: to be asked for when a call was let in. */
    public int era() {
        return era(era.get());
    }

    /**
     * Whether a call that was let in in an era says nothing any more: the breaker has opened since, over what such calls have come to, and has found out by others that the
     * backend is back. While it is open, such a call changes nothing, and shows among Resilience4j's figures.
     */
    public boolean isPast(int letIn) {
        return letIn != era() && state() != State.OPEN;
    }

    private static int era(long word) {
        return (int) (word >>> Integer.SIZE);
    }

    /** From when a call is slow. */
    public long slowNanos() {
        return slowNanos;
    }

    /**
     * A call under way has had the slow-call threshold of the backend's time. {@link #overdueEnded} must follow
     * exactly once, when it ends.
     *
     * <p>If the calls of this {@linkplain #era() era} that are overdue now, taken for the slow calls that they will be recorded as, bring the slow-call rate
     * to its threshold, the breaker opens.
     *
     * @param letIn the era that the call was let in in
     */
    public void overdueBegan(int letIn) {
        overdue.incrementAndGet();
        long now = era.updateAndGet(word -> era(word) == letIn ? word + 1 : word);
        if (era(now) == letIn
                && state() == State.CLOSED
                && slowRate((int) now) >= config().getSlowCallRateThreshold()) {
            try {
                breaker.transitionToOpenState();
            } catch (IllegalStateTransitionException e) {
                // Somebody else has moved it since: then theirs holds.
            }
        }
    }

    /**
     * An overdue call is over.
     *
     * @param letIn as when it {@linkplain #overdueBegan began} to be
     */
    public void overdueEnded(int letIn) {
        overdue.decrementAndGet();
        era.updateAndGet(word -> era(word) == letIn && (int) word > 0 ? word - 1 : word);
    }

    /** The share of slow calls in percent if the overdue ones ended now; -1 if there are too few calls to say. */
    private float slowRate(int overdueNow) {
        CircuitBreaker.Metrics metrics = breaker.getMetrics();
        int calls = metrics.getNumberOfBufferedCalls() + overdueNow;
        if (calls < config().getMinimumNumberOfCalls()) {
            return -1;
        }
        if (config().getSlidingWindowType() == SlidingWindowType.COUNT_BASED) {
            // They would push the oldest calls out of the window.
            calls = Math.min(calls, config().getSlidingWindowSize());
        }
        int slow = Math.min(metrics.getNumberOfSlowCalls() + overdueNow, calls);
        return 100f * slow / calls;
    }

    /** Time until the next probe; zero if the breaker is not open, or one is due. */
    public long nanosToNextProbe() {
        return state() == State.OPEN ? recovery.nanosToNextProbe(nanoClock.getAsLong()) : 0;
    }

    /** Time between two probes, but for the jitter. */
    public Duration probeInterval() {
        return probeInterval;
    }

    /** Probes under way. */
    public int probesUnderWay() {
        return recovery.underWay();
    }

    /** Calls under way that have had the slow-call threshold of the backend's time. */
    public int overdue() {
        return overdue.get();
    }

    /** What an operator forced; else Resilience4j's state. */
    public State state() {
        State forced = this.forced;
        return forced == null ? breaker.getState() : forced;
    }

    /** Refuses every call until {@linkplain #release() released}. */
    public void forceOpen() {
        force(State.FORCED_OPEN);
    }

    /** Permits every call, and cannot open, until {@linkplain #release() released}. */
    public void forceClosed() {
        force(State.DISABLED);
    }

    /** Ends what was forced: closed, with an empty window. */
    public void release() {
        force(null);
    }

    private synchronized void force(@Nullable State state) {
        forced = state;
        move(state == null ? State.CLOSED : state);
    }

    /** Something has moved Resilience4j's breaker: if not the operator, it goes back. */
    private synchronized void keepForced() {
        State state = forced;
        if (state != null && state != breaker.getState()) {
            move(state);
        }
    }

    private void move(State to) {
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

    /** Of an open one, this may half-open it. */
    private boolean tryAcquire(State state) {
        if (state != State.OPEN) {
            return breaker.tryAcquirePermission();
        }
        synchronized (this) {
            return breaker.tryAcquirePermission();
        }
    }

    /**
     * One at a time, and none beside an operator's force: Resilience4j sets the timer that ends a half-open state before it knows that
     * the state will be taken, and lets the timer run if it is not. Of two probes that half-open at once, the second's would open the
     * breaker long after the first's had closed it.
     */
    private synchronized boolean halfOpen() {
        if (state() == State.OPEN) {
            try {
                breaker.transitionToHalfOpenState();
            } catch (IllegalStateTransitionException e) {
                // Another probe was first.
            }
        }
        return state() == State.HALF_OPEN;
    }

    private CircuitBreakerConfig config() {
        return breaker.getCircuitBreakerConfig();
    }
}
