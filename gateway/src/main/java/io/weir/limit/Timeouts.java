package io.weir.limit;

import io.weir.limit.Limit.Change;

/**
 * The decrease after windows in which hardly any call was answered in time, and the recovery from it. Times
 * are in seconds. Not thread-safe.
 */
final class Timeouts {

    private final LearntLimit limit;
    private double timedOutAt = Double.NEGATIVE_INFINITY;

    /** The limit before it was lowered for time-outs that no queue explains; 0: it was not. */
    private double limitBefore;

    Timeouts(LearntLimit limit) {
        this.limit = limit;
    }

    void rescale(double factor) {
        limitBefore *= factor;
    }

    /**
     * Lowers the limit if hardly any call was answered in time, at most once per deadline. Nothing is learnt.
     * The very first calls, if none was answered, do not lower the initial limit: those of a cold JVM are
     * late.
     *
     * @param answerLatency the mean of the last answers
     * @param hasAnswered whether any call was answered
     * @return whether it did
     */
    boolean areJudged(double now, SampleWindow window, double deadline, double answerLatency, boolean hasAnswered) {
        if (now - timedOutAt < deadline) {
            return false;
        }
        if (limitBefore == 0 && answerLatency < deadline / 4) {
            limitBefore = limit.calls();
        }
        double answered = 1 - (double) window.timeouts() / window.samples();
        boolean areFirst = !hasAnswered && timedOutAt == Double.NEGATIVE_INFINITY;
        // Not above the present limit, which sheds may have lowered.
        double least = Math.min(limit.calls(), areFirst ? limit.initial() : limit.min());
        limit.change(Math.max(least, limit.calls() * Math.clamp(answered, .25, .5)), Change.TIMEOUTS);
        timedOutAt = now;
        return true;
    }

    /**
     * Whether answers are fast again after time-outs that no queue explains; then restores half of that
     * limit.
     */
    boolean areOver(SampleWindow window, double deadline) {
        double safe = limitBefore / 2;
        boolean fast = window.timeouts() < window.samples() / 4. && window.meanLatency() < deadline / 4;
        boolean recovered = safe > limit.calls() && fast;
        if (recovered) {
            limit.change(limit.clip(safe), Change.RECOVERY);
        }
        if (safe <= limit.calls()) {
            limitBefore = 0;
        }
        return recovered;
    }
}
