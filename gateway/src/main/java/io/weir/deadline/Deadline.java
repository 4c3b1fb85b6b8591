package io.weir.deadline;

/**
 * The moment by which an exchange must be over, on {@link System#nanoTime()}'s scale.
 *
 * @param atNanos the moment
 * @param shortenedByCaller whether a caller's wish made it earlier than the backend's or route's own, so that missing
 *     it says less about the backend
 */
public record Deadline(long atNanos, boolean shortenedByCaller) {

    /**
     * The deadline of an exchange that arrived at a moment.
     *
     * @param arrivedAtNanos when the request's head was decoded
     * @param ownNanos the backend's or route's own deadline
     * @param callerNanos what the caller wishes, or {@link CallerTimeout#NONE}
     */
    public static Deadline of(long arrivedAtNanos, long ownNanos, long callerNanos) {
        boolean shortened = callerNanos != CallerTimeout.NONE && callerNanos < ownNanos;
        return new Deadline(arrivedAtNanos + (shortened ? callerNanos : ownNanos), shortened);
    }

    /** What is left at a moment; zero or negative: it has passed. */
    public long leftNanos(long nowNanos) {
        return atNanos - nowNanos;
    }
}
