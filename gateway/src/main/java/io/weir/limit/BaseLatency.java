package io.weir.limit;

/**
 * The latency of a backend while calls do not queue in it: a mean over samples, the newer ones with at least
 * a minimal weight. Seconds. Not thread-safe.
 */
final class BaseLatency {

    private static final int BATCH = 16;

    /** The samples that the old mean counts for, at most. */
    private static final int MAX_WEIGHT = 96;

    private double seconds;
    private double weight;
    private boolean trusted;
    private double sum;
    private int count;

    boolean isKnown() {
        return seconds > 0;
    }

    /** Whether it rests on samples and not on a guess. */
    boolean hasSamples() {
        return weight > 0;
    }

    /** Whether it rests on many samples, or on a probe. */
    boolean isTrusted() {
        return trusted || weight >= MAX_WEIGHT;
    }

    double seconds() {
        return seconds;
    }

    /** Until there are samples. */
    void guess(double latency) {
        seconds = latency;
    }

    void add(double latency) {
        sum += latency;
        count++;
        if (count == BATCH) {
            blend(sum / count, count);
        }
    }

    /** Includes the mean of some samples. */
    void blend(double mean, int samples) {
        seconds += samples / (samples + weight) * (mean - seconds);
        weight = Math.min(MAX_WEIGHT, weight + samples);
        sum = 0;
        count = 0;
    }

    void replace(double latency) {
        seconds = latency;
        weight = MAX_WEIGHT;
        sum = 0;
        count = 0;
    }

    void raise(double latency) {
        seconds = Math.max(seconds, latency);
        sum = 0;
        count = 0;
    }

    void trust() {
        trusted = true;
        weight = MAX_WEIGHT;
    }
}
