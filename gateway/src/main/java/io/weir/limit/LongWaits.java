package io.weir.limit;

/**
 * Growth for calls that wait while the latency is long: no window judges such a backend before its callers
 * give up. Times are in seconds. Not thread-safe.
 */
final class LongWaits {

    /**
     * The share of the deadline from which a latency is long: a probe takes longer than the deadline, and a
     * call that has waited for as long has no time left to wait for a verdict.
     */
    static final double LONG = 1 / 3.;

    /** As LONG, for the wait while no call has ended: the first answers of a cold JVM are late, too. */
    private static final double LONG_AT_FIRST = 1 / 4.;

    /** A base latency that was shorter within this time may be congested now, not long. */
    private static final double REMEMBERED = 60;

    /** Rounding of the waits' times. */
    private static final double ROUNDING = 1e-6;

    private final LearntLimit limit;
    private final Target target;
    private final BaseLatency base;
    private final Growth growth;

    private double endedAt = Double.NEGATIVE_INFINITY;

    /** The last end that is a sign of a queue or of a failure. */
    private double slowAt = Double.NEGATIVE_INFINITY;

    /** The last end at which the base latency was not long. */
    private double shortAt = Double.NEGATIVE_INFINITY;

    /** Since when calls wait for permits, as far as it is known. */
    private double waitingSince = Double.POSITIVE_INFINITY;

    /** The last growth for a waiting call. */
    private double grewAt;

    /** The answers to later calls before such a growth may be repeated: as many as it admitted calls. */
    private int answersDue;

    LongWaits(LearntLimit limit, Target target, BaseLatency base, Growth growth) {
        this.limit = limit;
        this.target = target;
        this.base = base;
        this.growth = growth;
    }

    boolean isUnused() {
        return endedAt == Double.NEGATIVE_INFINITY;
    }

    /** The end of the last call. */
    double endedAt() {
        return endedAt;
    }

    /** As {@link Knee#longWait}. */
    double due() {
        boolean isBlind = base.isKnown() ? endedAt - shortAt > REMEMBERED : isUnused();
        return isBlind ? (isUnused() ? LONG_AT_FIRST : LONG) * target.deadline() : Double.POSITIVE_INFINITY;
    }

    /** Lets the limit grow if a call has waited for too long; returns whether it did. */
    boolean tryGrow(double now, double since) {
        waitingSince = Math.min(waitingSince, since);
        if (now - waitingSince < due() - ROUNDING
                || now - slowAt < Math.max(LONG * target.deadline(), base.seconds())
                || answersDue > 0) {
            return false;
        }
        grewAt = now;
        waitingSince = now;
        double step = base.isKnown() ? Growth.STEP : Growth.MIN_SLOW_START_STEP;
        answersDue = (int) Math.ceil(growth.growTo(limit.clip(step * limit.calls()), target.rate()));
        return true;
    }

    /** A call waits, but no growth for it is possible now. */
    void waitsSince(double since) {
        waitingSince = Math.min(waitingSince, since);
    }

    /** A permit is free. */
    void nothingWaits() {
        waitingSince = Double.POSITIVE_INFINITY;
    }

    /** Any call has ended. */
    void ended(double now) {
        endedAt = now;
    }

    /** A call has ended that is evidence. */
    void judged(double now, double latency, boolean isAnswered) {
        if (!isAnswered || (base.isKnown() && latency > Growth.CALM * base.seconds())) {
            slowAt = now;
        }
        if (answersDue > 0 && isAnswered && now - latency >= grewAt) {
            answersDue--;
        }
        if (base.isKnown() && base.seconds() <= LONG * target.deadline()) {
            shortAt = now;
        }
    }

    /** At half of the limit, no call showed a queue in any case: wait for calls at the whole limit. */
    void probed(double now) {
        slowAt = Math.max(slowAt, now + base.seconds());
    }
}
