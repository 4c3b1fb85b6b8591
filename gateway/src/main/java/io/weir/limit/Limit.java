package io.weir.limit;

import java.util.List;
import java.util.Locale;

/**
 * The number of calls that a backend may work on at once: samples of its calls in, a number out. Only calls
 * that hold a permit of the backend's bulkhead are samples.
 *
 * <pre>
 *   permit granted ──► mark = started(now, inUse) ──► call
 *                  ──► ended(now, mark, latency, evidence, inUse) ──► release
 * </pre>
 *
 * <p>Thread-safe; no method blocks. Times are readings of one monotonic clock, in nanoseconds.
 */
public interface Limit {

    /** What the end of a call says about its backend. */
    enum Evidence {
        /** The backend answered, with any status that is not one of the others. */
        ANSWERED,
        /** The deadline passed while the backend had the call. */
        TIMED_OUT,
        /** A 503 or 429 with {@code Retry-After}: the backend refuses because it has too much to do. */
        SHED,
        /**
         * A 503 without {@code Retry-After}, a refused or reset connection: a backend with too much to do if
         * it came much faster than an answer.
         */
        UNAVAILABLE,
        /** The caller left, was slow, or the gateway itself failed: nothing about the backend. */
        NONE
    }

    /** The number in force. At least 1. */
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

    /** What the limit is based on, for people to see. */
    Beliefs beliefs();

    /** The number of changes of the limit for this reason. */
    long changes(Change reason);

    /** Why a limit changed last. */
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
     * What a limit is based on.
     *
     * @param limit the number in force
     * @param baseLatencyNanos the latency of the backend while calls do not queue in it; 0 while unknown
     * @param answersPerSecond the rate of answers while the limit was in use; 0 while unknown
     * @param utilisation the share of calls that ended while all permits were in use, in the last window; 0
     *     to 1
     * @param lastChange why the limit changed last. {@link Change#PROBE} only while a probe runs: a probe
     *     that leaves the limit as it was is no change afterwards
     * @param changedAtMillis when it changed last, in milliseconds since 1970; at first, when it was created;
     *     0 for a fixed limit
     */
    record Beliefs(
            int limit,
            long baseLatencyNanos,
            double answersPerSecond,
            double utilisation,
            Change lastChange,
            long changedAtMillis) {

        /** Whether the limit is a number in the configuration. */
        public boolean isFixed() {
            return lastChange == Change.FIXED;
        }
    }
}
