package io.weir.limit;

import io.weir.limit.Limit.Evidence;

/**
 * One measurement of the latency at half the limit. First no call is sent until fewer calls than half the
 * limit are in flight; then the lower limit holds for a while. By Little's law the latency is the mean number
 * of calls in flight divided by the rate of answers: a mean of the answers' latencies would miss the slow
 * calls, which end after the measurement. Times are in seconds. Not thread-safe.
 */
final class LatencyProbe {

    private static final double MIN_HOLD = .05;
    private static final double HOLD_LATENCIES = 3;
    private static final int MIN_ENDS = 24;

    /**
     * The longest wait for half of the calls in flight to end, in times for which the lower limit holds. If
     * it takes longer, calls of another kind hold the permits, and those that wait would be refused.
     */
    private static final double DRAIN_HOLDS = 1.5;

    /** The share of the lower limit that is in use on average if it is the bottleneck. */
    private static final double FULL = .75;

    private enum Phase {
        IDLE,
        DRAINING,
        HOLDING
    }

    private Phase phase = Phase.IDLE;
    private int limit;
    private double startedAt;
    private double heldSince;
    private double lastChangeAt;
    private double callSeconds;
    private int ends;
    private int timeouts;

    boolean isRunning() {
        return phase != Phase.IDLE;
    }

    boolean isHolding() {
        return phase == Phase.HOLDING;
    }

    /** The lower limit while the probe runs. */
    int limit() {
        return limit;
    }

    void start(double now, int lowerLimit) {
        phase = Phase.DRAINING;
        limit = lowerLimit;
        startedAt = now;
    }

    /** Ends the probe without a result. */
    void cancel() {
        phase = Phase.IDLE;
    }

    void started(double now, int inFlight) {
        if (phase == Phase.HOLDING) {
            callSeconds += (inFlight - 1) * (now - lastChangeAt);
            lastChangeAt = now;
        }
    }

    /**
     * A call has ended.
     *
     * @param inFlight the calls in flight, including this one
     * @param latency the expected latency
     * @return whether the measurement is over
     */
    boolean ended(double now, Evidence evidence, int inFlight, double latency, double deadline) {
        double hold = Math.max(MIN_HOLD, HOLD_LATENCIES * latency);
        if (phase == Phase.DRAINING) {
            if (inFlight - 1 < limit) {
                phase = Phase.HOLDING;
                heldSince = now;
                lastChangeAt = now;
                callSeconds = 0;
                ends = 0;
                timeouts = 0;
                return false;
            }
            // If the backend answers nothing, its calls end by time-outs. A longer drain is a defect of the
            // samples.
            double longest = evidence == Evidence.ANSWERED ? DRAIN_HOLDS * hold : 2 * deadline;
            return now - startedAt > longest && stop();
        }
        callSeconds += inFlight * (now - lastChangeAt);
        lastChangeAt = now;
        boolean answered = evidence == Evidence.ANSWERED || evidence == Evidence.TIMED_OUT;
        ends += answered ? 1 : 0;
        timeouts += evidence == Evidence.TIMED_OUT ? 1 : 0;
        double held = now - heldSince;
        boolean enough = held >= hold && (ends >= MIN_ENDS || held >= 3 * hold);
        return enough && stop();
    }

    private boolean stop() {
        if (phase == Phase.DRAINING) {
            ends = 0;
        }
        phase = Phase.IDLE;
        return true;
    }

    /** Whether the completed measurement has enough answers. */
    boolean isUsable() {
        return ends >= 3 && 2 * timeouts <= ends;
    }

    /** Whether enough calls ended to outweigh the earlier base latency. */
    boolean isCertain() {
        return ends >= 12;
    }

    /** Whether the lower limit was the bottleneck, too. */
    boolean wasFull() {
        return callSeconds >= FULL * limit * (lastChangeAt - heldSince);
    }

    double latency() {
        return callSeconds / ends;
    }

    /** The time of the completed measurement, and of the wait before it. */
    double seconds() {
        return lastChangeAt - startedAt;
    }

    int ends() {
        return ends;
    }
}
