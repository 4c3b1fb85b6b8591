package io.weir.limit;

/**
 * Places in a queue beyond its capacity, for calls that came while the gateway itself paused. They arrive at
 * once, although the backend was idle. Without the pause they would have had the permits one after the other.
 */
public final class PauseAllowance {

    private PauseAllowance() {}

    /**
     * As many places as calls of the usual time would have had a permit in the time of the pause.
     *
     * @param pausedNanos the recent pause; 0 if there was none
     * @param usualNanos the usual time of a call; 0 if it is unknown, which allows no places
     */
    public static int places(long pausedNanos, int permits, long usualNanos) {
        if (pausedNanos <= 0 || usualNanos <= 0) {
            return 0;
        }
        return (int) Math.min(QueueingBulkhead.LARGEST, permits * ((double) pausedNanos / usualNanos));
    }
}
