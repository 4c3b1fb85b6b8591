package io.weir.outcome;

/**
 * Computes the time after which a refused caller should retry.
 *
 * <p>The time is 1 to 30 seconds: {@code Retry-After} has whole seconds only, and no caller waits longer. It
 * is jittered upwards by up to half, so that callers that were refused together do not return together.
 */
public final class RetryAfter {

    private static final long MIN_MILLIS = 1_000;
    private static final long MAX_MILLIS = 30_000;
    private static final double JITTER = 0.5;

    private RetryAfter() {}

    /**
     * The time, in milliseconds.
     *
     * @param expectedNanos the time until a retry can succeed: until the next probe, or until the queue is
     *     drained
     * @param random 0 (inclusive) to 1 (exclusive)
     */
    public static long millis(long expectedNanos, double random) {
        double millis = Math.max(MIN_MILLIS, expectedNanos / 1e6) * (1 + JITTER * random);
        return Math.min(MAX_MILLIS, (long) millis);
    }

    /** The time in whole seconds, rounded up, for {@code Retry-After}. */
    public static long seconds(long millis) {
        return Math.min(MAX_MILLIS / 1000, (millis + 999) / 1000);
    }
}
