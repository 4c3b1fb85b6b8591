package io.weir.limit;

import io.weir.limit.Limit.Evidence;

/** The samples of one window. Times in seconds. Not thread-safe. */
final class SampleWindow {

    /** Fewer calls than this share may be fast by chance. */
    private static final double MANY_SHARE = .25;

    private boolean open;
    private double since;
    private int samples;
    private int answers;
    private int sheds;
    private int quotas;
    private int timeouts;
    private int fast;
    private int pinned;
    private double latencies;
    private double answerLatencies;
    private int maxInFlightAnswered;

    /** Starts a window at a time, perhaps in the future: earlier samples are ignored. */
    void open(double at) {
        open = true;
        since = at;
        samples = 0;
        answers = 0;
        sheds = 0;
        quotas = 0;
        timeouts = 0;
        fast = 0;
        pinned = 0;
        latencies = 0;
        answerLatencies = 0;
        maxInFlightAnswered = 0;
    }

    /** Leaves out a time without calls. */
    void skip(double seconds) {
        since += seconds;
    }

    void close() {
        open = false;
    }

    boolean isOpen() {
        return open;
    }

    boolean hasBegun(double now) {
        return now >= since;
    }

    /**
     * Whether there are enough samples for a verdict.
     *
     * @param limit the calls at once
     * @param isTrial whether the limit has just grown: then more samples are needed
     */
    boolean isComplete(double now, double deadline, double limit, boolean isTrial) {
        double elapsed = elapsed(now);
        if (isMostlyTimeouts()) {
            return elapsed >= deadline / 2 && samples >= 3;
        }
        if (isTrial && samples < 32 && elapsed < 1) {
            return false;
        }
        double latency = meanLatency();
        return (elapsed >= Math.max(2 * latency, .01) && samples >= Math.clamp(2 * limit, 8, 24))
                || (elapsed >= Math.max(latency, .01) && samples >= 32)
                || (elapsed >= Math.max(.5, 2 * latency) && samples >= 4);
    }

    void add(Evidence evidence, boolean shed, double latency, int inFlightAtStart, boolean isPinned) {
        samples++;
        latencies += latency;
        pinned += isPinned ? 1 : 0;
        if (evidence == Evidence.ANSWERED) {
            answers++;
            answerLatencies += latency;
            maxInFlightAnswered = Math.max(maxInFlightAnswered, inFlightAtStart);
        } else if (evidence == Evidence.TIMED_OUT) {
            timeouts++;
        } else if (shed) {
            sheds++;
        }
    }

    int samples() {
        return samples;
    }

    int answers() {
        return answers;
    }

    int sheds() {
        return sheds;
    }

    /** Counts a 429; it is no sample. */
    void addQuota() {
        quotas++;
    }

    int quotas() {
        return quotas;
    }

    /** Counts a sample as one that shows no queue. */
    void addFast() {
        fast++;
    }

    /** Whether many were fast, and none timed out: the elapsed time would be that of a hang. */
    boolean areManyFast() {
        return fast >= MANY_SHARE * samples && timeouts == 0;
    }

    int timeouts() {
        return timeouts;
    }

    double elapsed(double now) {
        return now - since;
    }

    /** Mean over all samples. */
    double meanLatency() {
        return latencies / samples;
    }

    /** Mean over the answers. */
    double meanAnswerLatency() {
        return answerLatencies / answers;
    }

    int maxInFlightAnswered() {
        return maxInFlightAnswered;
    }

    /** The share of calls that ended while the limit was reached. */
    double utilisation() {
        return (double) pinned / samples;
    }

    boolean isMostlyTimeouts() {
        return 2 * timeouts >= samples;
    }
}
