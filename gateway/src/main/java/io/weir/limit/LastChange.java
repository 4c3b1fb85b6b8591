package io.weir.limit;

import io.weir.limit.Limit.Change;

/**
 * The last change of an adaptive limit, for operators.
 *
 * <p>A probe lowers the limit for a moment. If the limit is afterwards as before, the last change is again
 * the one before the probe: an operator looks for the reason of the present number, and the probe is not that
 * reason. Nor is a number that the settings move, or the share of the instances that take calls: no decision
 * led to it.
 *
 * <p>Times in seconds since the limit was created. Not thread-safe.
 */
final class LastChange {

    private Change reason = Change.INITIAL;
    private double at;
    private long decisions;

    /** The limit before the running probe; 0: none runs. */
    private int beforeProbe;

    private Change reasonBeforeProbe = Change.INITIAL;
    private double atBeforeProbe;

    /** The number has changed, or a probe is over. */
    void record(int from, int to, Change why, double now) {
        if (why == Change.PROBE) {
            if (!isProbing()) {
                beforeProbe = from;
                reasonBeforeProbe = reason;
                atBeforeProbe = at;
            }
        } else if (isProbing()) {
            boolean isAsBefore = to == beforeProbe;
            beforeProbe = 0;
            if (isAsBefore) {
                reason = reasonBeforeProbe;
                at = atBeforeProbe;
                return;
            }
        }
        reason = why;
        at = now;
        decisions++;
    }

    /**
     * The settings have moved the number, or have ended a probe.
     *
     * @param to the number apart from a probe
     * @param goesOn whether a probe still runs
     */
    void moved(int to, boolean goesOn) {
        if (!isProbing()) {
            return;
        }
        if (goesOn) {
            beforeProbe = to;
        } else {
            beforeProbe = 0;
            reason = reasonBeforeProbe;
            at = atBeforeProbe;
        }
    }

    /** Whether the last recorded change began a probe. */
    boolean isProbing() {
        return beforeProbe != 0;
    }

    Change reason() {
        return reason;
    }

    /** The recorded changes, the starts of probes included. */
    long decisions() {
        return decisions;
    }

    double at() {
        return at;
    }
}
