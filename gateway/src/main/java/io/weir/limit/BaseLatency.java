package io.weir.limit;

/**
 * The latency of a backend while calls do not queue in it: a mean over samples in which newer samples keep a
 * minimal weight. In seconds. Not thread-safe.
 */
final class BaseLatency {

    private static final int BATCH = 16;
    private static final int SMALL_BATCH = 2;

    /** The largest weight of the old mean, in samples. */
    private static final int MAX_WEIGHT = 96;

    private double seconds;
    private double weight;
    private boolean trusted;
    private boolean proven;
    private double sum;
    private int count;

    boolean isKnown() {
        return seconds > 0;
    }

    /** Whether the latency comes from samples, not from a guess. */
    boolean hasSamples() {
        return weight > 0;
    }

    /** Whether the latency comes from many samples, or from a probe. */
    boolean isTrusted() {
        return trusted || weight >= MAX_WEIGHT;
    }

    /** Whether more calls at once bring more answers at this latency. */
    boolean isProven() {
        return proven;
    }

    double seconds() {
        return seconds;
    }

    /** Sets the value to use until there are samples; earlier ones no longer count. */
    void guess(double latency) {
        seconds = latency;
        weight = 0;
    }

    /**
     * Includes one sample; the mean changes when a batch is complete.
     *
     * @param isFirstSmall whether the very first batch may be small
     */
    void add(double latency, boolean isFirstSmall) {
        sum += latency;
        count++;
        if (count >= (isFirstSmall && !hasSamples() ? SMALL_BATCH : BATCH)) {
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
        proven = false;
        seconds = latency;
        weight = MAX_WEIGHT;
        sum = 0;
        count = 0;
    }

    /** As {@link #replace}: no call queues at this latency. */
    void prove(double latency) {
        replace(latency);
        proven = true;
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
