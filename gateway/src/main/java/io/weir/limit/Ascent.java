package io.weir.limit;

import io.weir.limit.Limit.Change;
import io.weir.limit.Limit.Evidence;

/**
 * Follows a backend all of whose calls have become slower. More calls at once that bring proportionally more
 * answers show that nothing queues, whatever the latency. So the limit doubles for about one latency, once
 * the answers are slow and fewer, and equally slow for the first and the last of the calls in flight. If
 * that brings about as many more answers, the base latency becomes the present one, and the limit stays, or
 * doubles again. Otherwise it returns to what it was. Times are in seconds. Not thread-safe.
 */
final class Ascent {

    /** An answer above this multiple of the base latency is slow. */
    private static final double SLOW = 1.5;

    /**
     * No queue of a limit near the knee is as long as this multiple of the base latency. So the limit is
     * tried at such a latency although all calls found the same number of others in flight.
     */
    private static final double FAR = 12;

    /** The backend has changed if it answers less than this share of what it did. */
    private static final double FEWER = .75;

    private static final double STEP = 2;

    /** A smaller step, below the upper bound of the limit, would show nothing. */
    private static final double MIN_STEP = 1.3;

    /** The share of the additional calls that must be answered. */
    private static final double PROPORTIONAL = .5;

    /** The time for that, in latencies: by then the admitted calls have ended, if none queues. */
    private static final double JUDGED_AFTER = 1.1;

    /** The same while not all permits are in use, so that the number of answers shows nothing. */
    private static final double JUDGED_IF_FREE = 2;

    /** Calls that the step admitted may take this multiple of the latency before it. */
    private static final double AS_SLOW = 1.2;

    private static final double MIN_BACK_OFF = 4;
    private static final double MAX_BACK_OFF = 32;

    private final LearntLimit limit;
    private final Target target;
    private final BaseLatency base;
    private final RecentRate recent = new RecentRate();
    private final SlowRun slow = new SlowRun();
    private double notBefore = Double.NEGATIVE_INFINITY;
    private double backOff = MIN_BACK_OFF;

    /** The limit before the step; 0: no step is on trial. */
    private double from;

    /** The latency before the step. */
    private double latency;

    private double steppedAt;
    private int answers;
    private int admitted;
    private double latencies;

    Ascent(LearntLimit limit, Target target, BaseLatency base) {
        this.limit = limit;
        this.target = target;
        this.base = base;
    }

    boolean isOnTrial() {
        return from > 0;
    }

    /** Whether no step is on trial, or has failed lately. */
    boolean isAllowed(double now) {
        return !isOnTrial() && now >= notBefore;
    }

    void cancel() {
        from = 0;
        slow.clear();
    }

    /** Any call has ended. */
    void count(double now, Evidence evidence) {
        if (evidence == Evidence.ANSWERED) {
            recent.answered();
        }
        recent.advance(now);
    }

    /** The highest recent rate of answers. */
    double highestRate() {
        return recent.perSecond();
    }

    /** Whether the backend answers fewer calls per second than before. */
    boolean areFewer(double rate) {
        return rate < FEWER * recent.perSecond();
    }

    /** A call has ended while no step is on trial; returns whether one begins. */
    boolean begins(double now, double callLatency, Evidence evidence, int inFlightAtStart, int inFlight) {
        boolean isSlow = evidence == Evidence.ANSWERED && base.isKnown() && callLatency >= SLOW * base.seconds();
        if (!isSlow) {
            slow.clear();
            return false;
        }
        // Also while a permit is free: where few calls come, each of their answers counts.
        slow.add(callLatency, inFlightAtStart);
        if (!slow.isLong(limit.part()) || now < notBefore || inFlight != limit.part()) {
            return false;
        }
        double mean = slow.meanLatency();
        boolean mayBeSlower = slow.isAlike() || (!slow.hasSpread() && mean >= FAR * base.seconds());
        boolean isChanged = mayBeSlower && areFewer(slow.rate());
        slow.clear();
        return isChanged && hasStepped(now, mean);
    }

    private boolean hasStepped(double now, double present) {
        double next = limit.clip(STEP * limit.calls());
        if (next < MIN_STEP * limit.calls()) {
            return false;
        }
        from = limit.calls();
        latency = present;
        steppedAt = now;
        answers = 0;
        admitted = 0;
        latencies = 0;
        limit.change(next, Change.GROWTH);
        return true;
    }

    /** A call has ended while a step is on trial. */
    void ended(double now, double callLatency, Evidence evidence, boolean isPinned) {
        // A call that waited too long for its permit says nothing, but has had the permit.
        boolean isSentTooLate = evidence == Evidence.TIMED_OUT && callLatency < latency;
        if (evidence == Evidence.ANSWERED || isSentTooLate) {
            answers++;
        }
        if (evidence == Evidence.ANSWERED && now - callLatency >= steppedAt) {
            admitted++;
            latencies += callLatency;
        }
        double elapsed = now - steppedAt;
        boolean isLate = elapsed > JUDGED_AFTER * latency;
        boolean isAsSlow = admitted > 0 && latencies / admitted < AS_SLOW * latency;
        if (!isLate) {
            if (isAsSlow && answers >= from + PROPORTIONAL * (limit.calls() - from)) {
                succeed(now, isPinned);
            }
        } else if (isPinned || elapsed >= JUDGED_IF_FREE * latency) {
            if (isAsSlow && !isPinned) {
                succeed(now, false);
            } else {
                fail(now);
            }
        }
    }

    private void succeed(double now, boolean again) {
        from = 0;
        backOff = MIN_BACK_OFF;
        base.prove(Math.max(base.seconds(), Math.min(latency, latencies / admitted)));
        target.replaceRate(now, limit.calls() / latency);
        if (again) {
            hasStepped(now, latency);
        }
    }

    private void fail(double now) {
        limit.change(from, Change.GROWTH_REVERTED);
        from = 0;
        notBefore = now + backOff;
        backOff = Math.min(MAX_BACK_OFF, 2 * backOff);
    }
}
