package io.weir.limit;

import io.weir.limit.Limit.Change;

/**
 * Growth while the limit is the bottleneck and no call queues, and its reversal if it brings no more answers.
 * Times are in seconds. Not thread-safe.
 */
final class Growth {

    /** A latency below this multiple of the base is no sign of a queue. */
    static final double CALM = 1.2;

    /** A slow start takes no more than this multiple for the noise of a small window. */
    private static final double MAX_NOISE_FACTOR = 1.4;

    static final double STEP = 1.5;
    static final double MIN_SLOW_START_STEP = 2;
    private static final double MAX_SLOW_START_STEP = 4;

    /** The share of the deadline that a latency may reach by growth alone. */
    private static final double MAX_LATENCY_BY_GROWTH = .6;

    /** Growth that brought fewer answers than this multiple is reverted. */
    private static final double WORTHWHILE = 1.15;

    private static final double MIN_BACK_OFF = 2;
    private static final double MAX_BACK_OFF = 16;

    private final LearntLimit limit;
    private final Target target;
    private final BaseLatency base;

    /** The limit before the last growth, until a window has shown its effect; 0: no such growth. */
    private double grewFrom;

    private double rateBefore;
    private double noGrowthUntil;
    private double backOff = MIN_BACK_OFF;
    private boolean slowStart = true;
    private int calmWindows;

    Growth(LearntLimit limit, Target target, BaseLatency base) {
        this.limit = limit;
        this.target = target;
        this.base = base;
    }

    /** Whether no window has shown yet what the last growth brought. */
    boolean isOnTrial() {
        return grewFrom > 0;
    }

    /** The limit has moved for another reason: what the last growth brought will not be known. */
    void endTrial() {
        grewFrom = 0;
    }

    void rescale(double factor) {
        grewFrom *= factor;
        rateBefore *= factor;
    }

    void startSlowly() {
        slowStart = true;
    }

    /** Grows by no more than usual from now on, since calls queue. */
    void endSlowStart() {
        slowStart = false;
    }

    /** The calls by which the limit has grown. */
    double growTo(double next, double rate) {
        grewFrom = limit.calls();
        rateBefore = rate;
        limit.change(next, Change.GROWTH);
        return limit.calls() - grewFrom;
    }

    /** Reverts growth after which the rate of answers is not higher; returns whether it did. */
    boolean isReverted(double now, double windowRate, double wanted) {
        double from = grewFrom;
        grewFrom = 0;
        if (windowRate >= WORTHWHILE * rateBefore) {
            backOff = MIN_BACK_OFF;
            noGrowthUntil = 0;
            return false;
        }
        if (wanted >= .9 * limit.calls()) {
            return false;
        }
        limit.change(limit.clip(Math.max(from, wanted)), Change.GROWTH_REVERTED);
        noGrowthUntil = now + backOff;
        backOff = Math.min(MAX_BACK_OFF, 2 * backOff);
        slowStart = false;
        return true;
    }

    /** Counts a window without a sign of a queue; a slow start tolerates the noise of small windows. */
    void countCalmWindow(double latency, int samples) {
        double tolerated = slowStart ? Math.clamp(1 + 2 / Math.sqrt(samples), CALM, MAX_NOISE_FACTOR) : CALM;
        if (latency < tolerated * base.seconds()) {
            calmWindows++;
        } else {
            calmWindows = 0;
            slowStart = false;
        }
    }

    /** Grows to the target, or by a step; returns whether the next window must show what the step brought. */
    boolean grow(double now, int samples, double windowRate, double wanted) {
        int needed = slowStart ? 1 : (int) Math.clamp(Math.ceil(32. / samples), 1, 3);
        double deadline = target.deadline();
        double fastest =
                Math.clamp(MAX_LATENCY_BY_GROWTH * deadline / base.seconds(), MIN_SLOW_START_STEP, MAX_SLOW_START_STEP);
        double next = wanted;
        if (calmWindows >= needed && base.seconds() < target.longestBase() && now >= noGrowthUntil) {
            next = Math.max(wanted, (slowStart ? fastest : STEP) * limit.calls());
        }
        next = limit.clip(Math.min(next, fastest * limit.calls()));
        if (next > 1.3 * limit.calls()) {
            growTo(next, windowRate);
            return true;
        }
        limit.change(next, Change.GROWTH);
        return false;
    }
}
