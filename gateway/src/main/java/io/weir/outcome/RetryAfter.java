package io.weir.outcome;

/**
 * When a caller who was shed should try again.
 *
 * <p>From 1 to 30 seconds, since {@code Retry-After} knows whole seconds only and nobody waits longer; jittered by half
 * upwards, so that callers who were shed together do not come back together.
 */
public final class RetryAfter {

    private static final long MIN_MILLIS = 1_000;
    private static final long MAX_MILLIS = 30_000;
    private static final double JITTER = 0.5;

    private RetryAfter() {}

    /**
     * The time in milliseconds.
     *
     * @param expectedNanos when it is expected to be worth while: the next probe, the queue drained
     * @param random from 0 to 1
     */
    public static long millis(long expectedNanos, double random) {
        double millis = Math.max(MIN_MILLIS, expectedNanos / 1e6) * (1 + JITTER * random);
        return Math.min(MAX_MILLIS, (long) millis);
    }

    /** The same in whole seconds, rounded up, as {@code Retry-After} has it. */
    public static long seconds(long millis) {
        return Math.min(MAX_MILLIS / 1000, (millis + 999) / 1000);
    }
}
