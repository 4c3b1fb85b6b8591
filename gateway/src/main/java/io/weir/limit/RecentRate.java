package io.weir.limit;

/** The highest recent rate of answers, slowly forgotten. Times in seconds. Not thread-safe. */
final class RecentRate {

    private static final double SLICE = .1;
    private static final double SMOOTHING = .5;
    private static final double KEPT_PER_SLICE = .995;

    private double since;
    private int answers;
    private double rate;
    private double highest;

    void answered() {
        answers++;
    }

    /** Returns whether a slice has ended. */
    boolean advance(double now) {
        double elapsed = now - since;
        if (elapsed <= SLICE) {
            return false;
        }
        rate += Math.min(1, elapsed / SMOOTHING) * (answers / elapsed - rate);
        highest = Math.max(rate, highest * KEPT_PER_SLICE);
        answers = 0;
        since = now;
        return true;
    }

    double perSecond() {
        return highest;
    }
}
