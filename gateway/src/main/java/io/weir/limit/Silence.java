package io.weir.limit;

import io.weir.limit.Limit.Change;
import io.weir.limit.Limit.Evidence;

/**
 * Growth while a call has to wait, and no call has ended for several base latencies: the calls that hold the
 * permits take longer than those before them. Windows show that only once such calls end, which is too late
 * for those that wait. The present calls take at least the time since a permit was free. The limit grows to
 * what Little's law asks for at that latency and the rate of answers so far. Times are in seconds. Not
 * thread-safe.
 */
final class Silence {

    /** The silence that shows longer calls, in base latencies. */
    private static final double BASE_LATENCIES = 4;

    /** A shorter one is within the pauses of a backend. */
    private static final double SHORTEST_SECONDS = .05;

    /** The latency that the limit grows for, as a share of the deadline: beyond it the backend may hang. */
    private static final double LONGEST_DEADLINE_SHARE = .25;

    /** A smaller growth is not worth the end of a window. */
    private static final double MIN_STEP = 1.2;

    private final LearntLimit limit;
    private final Target target;
    private final BaseLatency base;

    /** The limit before the growth; 0: it has not grown, or that is settled. */
    private double from;

    private double grewAt;

    /** The last end of a call; infinite: it was a time-out. */
    private double endedAt = Double.NEGATIVE_INFINITY;

    /** The last end at which a permit was free. */
    private double freeAt = Double.NEGATIVE_INFINITY;

    Silence(LearntLimit limit, Target target, BaseLatency base) {
        this.limit = limit;
        this.target = target;
        this.base = base;
    }

    void rescale(double factor) {
        from *= factor;
    }

    /** Whether a call that has to wait may let the limit grow. In a standing overload none does. */
    boolean isPossible() {
        return base.isKnown() && endedAt - freeAt < longest() && shortest() < longest();
    }

    private double shortest() {
        return Math.max(SHORTEST_SECONDS, BASE_LATENCIES * base.seconds());
    }

    private double longest() {
        return LONGEST_DEADLINE_SHARE * target.deadline();
    }

    /**
     * Lets the limit grow, since a call has to wait, if no call has ended for long enough.
     *
     * @param rate the rate of answers
     * @return whether it did
     */
    boolean tryGrow(double now, double rate) {
        if (!isPossible() || now - endedAt < shortest()) {
            return false;
        }
        double next = limit.clip(wanted(rate, Math.min(now - freeAt, longest())));
        if (next < MIN_STEP * limit.calls()) {
            return false;
        }
        if (from == 0) {
            from = limit.calls();
        }
        grewAt = now;
        limit.change(next, Change.GROWTH);
        return true;
    }

    private double wanted(double rate, double latency) {
        return Target.GAIN * rate * latency + target.slack();
    }

    /**
     * Any call has ended. If none was answered since the growth, and this one timed out, the backend hangs:
     * the limit returns.
     */
    void ended(double now, Evidence evidence, boolean isFull) {
        boolean isTimeout = evidence == Evidence.TIMED_OUT;
        if (isTimeout && endedAt < grewAt) {
            returnTo(from);
        }
        endedAt = isTimeout ? Double.POSITIVE_INFINITY : now;
        if (!isFull) {
            freeAt = now;
        }
    }

    /** If calls that are answered are short, and need no more permits than before, the limit returns. */
    void answered(double now, double latency, int inFlight, double rate) {
        if (now - latency >= grewAt && inFlight < from && latency < Growth.CALM * base.seconds()) {
            returnTo(Math.max(from, wanted(rate, base.seconds())));
        }
    }

    private void returnTo(double calls) {
        if (from > 0 && calls < limit.calls()) {
            limit.change(limit.clip(calls), Change.GROWTH_REVERTED);
        }
        from = 0;
    }
}
