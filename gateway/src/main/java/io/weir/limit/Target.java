package io.weir.limit;

/**
 * The limit that Little's law asks for: the rate of answers while the limit is the bottleneck, times the base
 * latency, and some room. Times are in seconds. Not thread-safe.
 */
final class Target {

    /** Room for random arrivals, in shares of the calls that the backend works on. */
    static final double GAIN = 1.15;

    /** After this time without saturation, saturation counts as new. */
    static final double FORGOTTEN = 2;

    /** The same in latencies, where that is longer: a window takes two latencies, and three after growth. */
    private static final double FORGOTTEN_LATENCIES = 4;

    /** The longest base latency, as a share of the deadline. */
    private static final double LONGEST = .5;

    /** As LONGEST, if more calls at once bring more answers. */
    private static final double LONGEST_PROVEN = .8;

    private final LearntLimit limit;
    private final BaseLatency base;
    private double deadline;

    /** 0 while unknown. */
    private double rate;

    private double saturatedAt = Double.NEGATIVE_INFINITY;

    /** The mean latency of the last window in which the limit was the bottleneck. */
    private double saturatedLatency;

    Target(LearntLimit limit, BaseLatency base, double deadline) {
        this.limit = limit;
        this.base = base;
        this.deadline = deadline;
    }

    void configure(double nextDeadline) {
        deadline = nextDeadline;
    }

    double deadline() {
        return deadline;
    }

    double rate() {
        return rate;
    }

    double saturatedLatency() {
        return saturatedLatency;
    }

    void rescale(double factor) {
        rate *= factor;
    }

    /** The rate at which the backend answers under a limit that has just been tried. */
    void replaceRate(double now, double newRate) {
        rate = newRate;
        saturatedAt = now;
    }

    void forgetRate() {
        rate = 0;
    }

    /** Leaves out a time in which the limit was the bottleneck, but no window was judged. */
    void skip(double seconds) {
        saturatedAt += seconds;
    }

    /**
     * Includes a window in which the limit was the bottleneck.
     *
     * @param hasGrown whether the limit has just grown: a higher rate is then a new one
     * @return whether the limit has become the bottleneck again
     */
    boolean learn(double now, double windowRate, double latency, boolean hasGrown) {
        saturatedLatency = latency;
        boolean outdated = rate == 0 || now - saturatedAt > Math.max(FORGOTTEN, 10 * latency);
        if (outdated || (hasGrown && windowRate > rate)) {
            rate = windowRate;
        } else {
            rate += (windowRate > rate ? .5 : .25) * (windowRate - rate);
        }
        boolean isNew = now - saturatedAt > Math.max(FORGOTTEN, FORGOTTEN_LATENCIES * latency);
        saturatedAt = now;
        return isNew;
    }

    /**
     * The first guess of the base latency, in a window in which the limit was the bottleneck: that of
     * Little's law, if it is longer. The mean latency misses the slow calls, which end after the window.
     */
    double firstGuess(double windowRate, double latency) {
        return windowRate == 0 ? latency : Math.max(latency, Math.min(limit.calls() / windowRate, deadline / 2));
    }

    double cappedBase() {
        return Math.min(base.seconds(), longestBase());
    }

    /** A longer base latency may be that of a queue, unless it is known that nothing queues. */
    double longestBase() {
        return (base.isProven() ? LONGEST_PROVEN : LONGEST) * deadline;
    }

    double slack() {
        return Math.sqrt(limit.calls());
    }

    double calls() {
        return GAIN * rate * cappedBase() + slack();
    }

    /** The base latency at which this is the present limit, for calls that took this time at half of it. */
    double baseThatKeepsTheLimit(double latency) {
        return (rate * latency - slack()) / (GAIN * rate);
    }
}
