package io.weir.deadline;

/**
 * The time by which an exchange must have ended, on the scale of {@link System#nanoTime()}.
 *
 * @param atNanos the time
 * @param shortenedByCaller whether the caller's timeout is shorter than the backend's or route's deadline, so
 *     that an exceeded deadline is weaker evidence against the backend
 */
public record Deadline(long atNanos, boolean shortenedByCaller) {

    /**
     * The deadline of an exchange.
     *
     * @param arrivedAtNanos the time at which the request's head was decoded
     * @param ownNanos the backend's or route's deadline, as a duration
     * @param callerNanos the caller's timeout, or {@link CallerTimeout#NONE}
     */
    public static Deadline of(long arrivedAtNanos, long ownNanos, long callerNanos) {
        boolean shortened = callerNanos != CallerTimeout.NONE && callerNanos < ownNanos;
        return new Deadline(arrivedAtNanos + (shortened ? callerNanos : ownNanos), shortened);
    }

    /** The remaining time; zero or negative: the deadline has passed. */
    public long leftNanos(long nowNanos) {
        return atNanos - nowNanos;
    }
}
