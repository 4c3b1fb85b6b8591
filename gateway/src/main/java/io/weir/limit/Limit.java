package io.weir.limit;

import java.util.List;
import java.util.Locale;
import java.util.function.DoubleSupplier;

/**
 * The number of calls that a backend may work on at once, computed from samples of its calls. Only calls that
 * hold a permit of the backend's bulkhead are samples.
 *
 * <pre>
 *   permit granted ──► mark = started(now, inUse) ──► call
 *                  ──► ended(now, mark, latency, evidence, inUse) ──► release
 * </pre>
 *
 * <p>Thread-safe; no method blocks. Times are readings of one monotonic clock, in nanoseconds.
 */
public interface Limit {

    /** The evidence that the end of a call gives about its backend. */
    enum Evidence {
        /** The backend answered, with any status that is not one of the others. */
        ANSWERED,
        /** The deadline passed while the backend had the call. */
        TIMED_OUT,
        /**
         * A 503 with {@code Retry-After}, or gRPC's UNAVAILABLE with a pushback: the backend refuses because
         * it has too much to do.
         */
        SHED,
        /**
         * A 429 with {@code Retry-After}, or gRPC's RESOURCE_EXHAUSTED with a pushback: as SHED while other
         * calls are slow. If they are not, it concerns the quota of one caller, and says nothing about the
         * backend.
         */
        QUOTA,
        /**
         * A 503 without {@code Retry-After}, or a refused or reset connection. If it came much faster than an
         * answer, the backend has too much to do.
         */
        UNAVAILABLE,
        /** No evidence: the caller left or was slow, or the gateway itself failed. */
        NONE
    }

    /** The limit in force; at least 1. */
    int value();

    /**
     * A call received its permit and is sent to the backend.
     *
     * @param inUse the permits in use, including this call's
     * @return a mark, to be handed to {@link #ended}
     */
    int started(long nowNanos, int inUse);

    /**
     * The call has ended; once for each started call, before its permit is released.
     *
     * @param mark the result of {@link #started}
     * @param latencyNanos the time that the backend had the call, without that of a slow caller
     * @param inUse the permits in use, including this call's
     */
    void ended(long nowNanos, int mark, long latencyNanos, Evidence evidence, int inUse);

    /**
     * Changes the settings, and keeps what was learnt. A fixed limit is replaced instead.
     *
     * @param deadlineNanos the deadline of the backend's calls
     */
    default void configure(LimitBounds bounds, long deadlineNanos) {}

    /**
     * Some instances take no calls any more, or take calls again: what was learnt is scaled to the others.
     *
     * @param share the share of the instances that take calls; above 0 and at most 1
     */
    default void scaleTo(double share) {}

    /**
     * Whether the calls in flight show the effect of this limit, and not that of a ceiling.
     *
     * @param ceiling the number of calls that the instances in may have
     * @param share returns the share of the limit that the ceiling is; 0: it changes with each call
     */
    default boolean isBelow(int ceiling, DoubleSupplier share) {
        return value() <= ceiling;
    }

    /** The number of calls that may wait, where the limit finds it; else 0. */
    default int queueCapacity() {
        return 0;
    }

    /**
     * The wait for a permit after which {@link #waited} is due; {@link Long#MAX_VALUE}: never, since the
     * limit learns nothing from calls that wait.
     */
    default long longWaitNanos() {
        return Long.MAX_VALUE;
    }

    /**
     * A call has waited for a permit for {@link #longWaitNanos}, or was refused one.
     *
     * @param sinceNanos the moment at which it started to wait
     */
    default void waited(long nowNanos, long sinceNanos) {}

    /** A call has to wait for a permit, since now. */
    default void queued(long nowNanos) {}

    /** Whether an end may be a sign of overload that a lower limit can relieve. */
    default boolean absorbs(Evidence end, long latencyNanos) {
        return false;
    }

    /**
     * Looks at what the limit depends on besides its samples.
     *
     * @return whether the limit or the capacity of its queue has changed
     */
    default boolean look(long nowNanos) {
        return false;
    }

    /**
     * Goes on learning from a number that was in force meanwhile in place of the limit.
     *
     * @param calls the number for all instances
     */
    default void resume(int calls, long nowNanos) {}

    /** Whether the limit is the capacity that the backend states. */
    default boolean isStated() {
        return false;
    }

    /** The figures behind the limit, for operators. */
    Beliefs beliefs();

    /** The number of changes of the limit for this reason. */
    long changes(Change reason);

    /** The reason for the last change of a limit. */
    enum Change {
        /** It has not changed since the start. */
        INITIAL,
        /** A number in the configuration. */
        FIXED,
        /** Calls waited for permits, and the backend showed no sign of a queue. */
        GROWTH,
        /** More calls did not bring more answers. */
        GROWTH_REVERTED,
        /** Calls queue in the backend. */
        QUEUEING,
        /** The backend refused calls. */
        SHEDDING,
        /** Most calls timed out. */
        TIMEOUTS,
        /** The backend answers again after most calls had timed out. */
        RECOVERY,
        /** Lowered for a moment, to measure the latency at half the limit. */
        PROBE;

        /** The reasons of changes while calls are served: all but {@link #INITIAL} and {@link #FIXED}. */
        public static final List<Change> LEARNT =
                List.of(GROWTH, GROWTH_REVERTED, QUEUEING, SHEDDING, TIMEOUTS, RECOVERY, PROBE);

        /** The word in metrics and JSON, such as {@code growth-reverted}. */
        public String word() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }

    /**
     * The figures behind a limit.
     *
     * @param limit the number in force
     * @param baseLatencyNanos the latency of the backend while calls do not queue in it; 0 while unknown
     * @param answersPerSecond the rate of answers while the limit was in use; 0 while unknown
     * @param utilisation the share of calls that ended while all permits were in use, in the last window; 0
     *     to 1
     * @param lastChange the reason for the last change that the limit decided on. {@link Change#PROBE} only
     *     while a probe runs: a probe that leaves the limit as it was does not count as a change afterwards.
     *     A number that the settings or the instances that take calls have moved has no reason here
     * @param changedAtMillis the time of the last change, in milliseconds since 1970; before the first
     *     change, the time of the limit's creation; 0 for a fixed limit
     * @param decisions the changes that the limit has decided on so far, the starts of probes included; tells
     *     two changes in one millisecond apart
     */
    record Beliefs(
            int limit,
            long baseLatencyNanos,
            double answersPerSecond,
            double utilisation,
            Change lastChange,
            long changedAtMillis,
            long decisions) {

        /** Whether the limit is a number in the configuration. */
        public boolean isFixed() {
            return lastChange == Change.FIXED;
        }
    }
}
