package io.weir.health;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.github.resilience4j.core.metrics.Snapshot;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A state of {@link Health}, with the data that belong to this state alone. A transition replaces the whole
 * object, so a count of one state is never used in another one.
 */
sealed interface HealthState {

    /** The moment of the transition to this state. */
    long since();

    /** The evidence that led to this state. */
    String why();

    /** The calls that this state permits; null: none. */
    @Nullable
    Generation generation();

    /** The state's name in Resilience4j. */
    State word();

    /** Whether an operator holds the state. */
    default boolean isOperators() {
        return false;
    }

    /**
     * The same state as another object, so that a CAS from this one fails. A group gives its backend no ramp
     * and does not change a state of an operator, so those need no copy.
     */
    default HealthState copy() {
        return this;
    }

    /** Calls proceed. */
    record Closed(Generation generation, CallWindow window, int relapses, long recoveredAt, long since, String why)
            implements HealthState {

        Closed withWindow(CallWindow other) {
            return withoutEvidence(generation, other);
        }

        /** The same state with a generation and a window that know no calls yet. */
        Closed withoutEvidence(Generation otherGeneration, CallWindow otherWindow) {
            return new Closed(otherGeneration, otherWindow, relapses, recoveredAt, since, why);
        }

        @Override
        public HealthState copy() {
            return withWindow(window);
        }

        @Override
        public State word() {
            return State.CLOSED;
        }
    }

    /** The evidence that keeps an instance open. */
    enum Cause {
        /** Its calls. */
        CALLS,
        /** Its health check. */
        CHECK,
        /** Its calls, and its health check, too. */
        CALLS_AND_CHECK
    }

    /**
     * Calls are refused; probes look for recovery, unless a health check keeps the instance out.
     *
     * @param isStalled whether the backend had stopped answering; then any answer shows that it has recovered
     * @param cause the evidence that keeps the state
     */
    record Open(
            ProbeSchedule probes,
            Snapshot lastRates,
            boolean isStalled,
            int relapses,
            long since,
            String why,
            Cause cause)
            implements HealthState {

        /** Opened by calls. */
        Open(ProbeSchedule probes, Snapshot lastRates, boolean isStalled, int relapses, long since, String why) {
            this(probes, lastRates, isStalled, relapses, since, why, Cause.CALLS);
        }

        boolean isHeldByCheck() {
            return cause != Cause.CALLS;
        }

        /** Whether calls that were under way at the opening may hang. */
        boolean hasHangingCalls() {
            return cause != Cause.CHECK || isStalled;
        }

        Open withCause(Cause other, ProbeSchedule schedule) {
            return new Open(schedule, lastRates, isStalled, relapses, since, why, other);
        }

        @Override
        public HealthState copy() {
            return withCause(cause, probes);
        }

        @Override
        public @Nullable Generation generation() {
            return null;
        }

        @Override
        public State word() {
            return State.OPEN;
        }
    }

    /** An operator holds the state. The calls are recorded, and no result changes the state. */
    record Forced(@Nullable Generation generation, CallWindow window, long since, String why) implements HealthState {

        @Override
        public boolean isOperators() {
            return true;
        }

        @Override
        public State word() {
            return generation == null ? State.FORCED_OPEN : State.DISABLED;
        }
    }

    /**
     * An operator has taken the instance out. It gets neither calls nor probes; its calls under way end.
     *
     * @param leaving the generation of the calls under way; null: the instance was out already
     */
    record Drained(@Nullable Generation leaving, Snapshot lastRates, long since, String why) implements HealthState {

        @Override
        public boolean isOperators() {
            return true;
        }

        @Override
        public @Nullable Generation generation() {
            return null;
        }

        @Override
        public State word() {
            return State.FORCED_OPEN;
        }
    }

    /**
     * The backend has answered again: the limit on calls starts low and grows with each good answer.
     *
     * <p>A single failure does not end the ramp. The breaker opens again if the first three calls all fail,
     * if the failure rate of at least ten calls reaches the threshold, or if the backend stalls. The ramp
     * ends in {@link Closed} when the limit is reached, or after a second with a good answer and without a
     * failure: at low traffic the limit is never reached.
     */
    // Concurrency: the counters are atomics. Results that arrive at once may be judged in any order, and the
    // transition that they cause is one CAS on the state.
    final class HalfOpen implements HealthState {

        private static final int FIRST_CALLS = 3;
        private static final int MINIMUM_CALLS = 10;
        private static final float PERCENT = 100;

        private final Generation generation;
        private final CallWindow window;
        private final int relapses;
        private final long since;
        private final String why;
        private final int start;
        private final AtomicInteger good = new AtomicInteger();
        private final AtomicInteger bad = new AtomicInteger();
        private volatile long lastFailureAt;
        /** The answer that ended the open state is the first good one. */
        private volatile boolean isGoodSinceFailure = true;

        HalfOpen(Generation generation, CallWindow window, int start, int relapses, long since, String why) {
            this.generation = generation;
            this.window = window;
            this.start = start;
            this.relapses = relapses;
            this.since = since;
            this.why = why;
            this.lastFailureAt = since;
        }

        @Override
        public Generation generation() {
            return generation;
        }

        CallWindow window() {
            return window;
        }

        int relapses() {
            return relapses;
        }

        @Override
        public long since() {
            return since;
        }

        @Override
        public String why() {
            return why;
        }

        @Override
        public State word() {
            return State.HALF_OPEN;
        }

        /** The limit on calls: it grows by one with each good answer, at half the pace after each relapse. */
        int ramp() {
            return start + (good.get() >> relapses);
        }

        void succeeded() {
            good.incrementAndGet();
            isGoodSinceFailure = true;
        }

        void failed(long now) {
            bad.incrementAndGet();
            isGoodSinceFailure = false;
            lastFailureAt = now;
        }

        /** Whether the calls so far show that the backend has not recovered. */
        boolean isFailing(float failureRateThreshold) {
            int failed = bad.get();
            int total = failed + good.get();
            return failed == total
                    ? failed >= FIRST_CALLS
                    : total >= MINIMUM_CALLS && PERCENT * failed / total >= failureRateThreshold;
        }

        /** Whether the backend has answered well for this time. */
        boolean isSettled(long now, long nanos) {
            return isGoodSinceFailure && now - lastFailureAt >= nanos;
        }

        String counts() {
            int failed = bad.get();
            return "%d of the first %d calls failed".formatted(failed, failed + good.get());
        }
    }
}
