package io.weir.overload;

/**
 * The pauses of one event loop: the time for which the loop processed nothing, for example during a garbage
 * collection or while the machine stood still. A backend's answer may have waited unread for that long, so
 * the time is no evidence against the backend.
 *
 * <p>Confined to the event loop.
 */
public interface LoopPauses {

    /** The pauses of a loop that is not measured: none is known. */
    LoopPauses NONE = now -> 0;

    /**
     * The sum of all pauses so far, a present one included. Only differences have a meaning. A pause counts
     * as present until the loop runs its timers, which it does after it has read what arrived meanwhile.
     *
     * @param now the current time on the clock of the measurement
     */
    long nanos(long now);

    /**
     * The latest pause while its effects last, otherwise 0: what has arrived meanwhile comes at once, and
     * waits in queues that drain only as fast as new calls leave room. A pause fades for four times as long
     * as it lasted. While compilers take the processor from the loop, it pauses again and again: then this is
     * at least the delay that it accepts.
     *
     * @param now the current time on the clock of the measurement
     */
    default long recentNanos(long now) {
        return 0;
    }
}
