package io.weir.outcome;

/**
 * Computes the time after which a refused caller should retry.
 *
 * <p>The time is at least a second, since {@code Retry-After} has whole seconds only. It is jittered upwards
 * by up to half, so that callers that were refused together do not return together. An estimate of the
 * backend's recovery is at most 30 seconds: no caller waits longer. The return of a quota is known, and a
 * caller that comes earlier is refused again, so that time has no such limit.
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

    /**
     * The time until a caller's quota allows another request, in milliseconds. The jitter is at most 15
     * seconds.
     *
     * @param nanosToNextPermit the time until the quota allows it
     * @param random 0 (inclusive) to 1 (exclusive)
     */
    public static long quotaMillis(long nanosToNextPermit, double random) {
        double millis = Math.max(MIN_MILLIS, Math.ceil(nanosToNextPermit / 1e6));
        return (long) (millis + Math.min(millis, MAX_MILLIS) * JITTER * random);
    }

    /** The time in whole seconds, rounded up, for {@code Retry-After}. */
    public static long seconds(long millis) {
        return (millis + 999) / 1000;
    }
}
