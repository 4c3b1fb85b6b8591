package io.weir.engine;

import java.util.concurrent.atomic.LongAdder;

/**
 * Counts the users of a part of the configuration, such as the exchanges of a route, so that the part is
 * closed only after its last user.
 *
 * <p>Two adders instead of one counter, so that event loops do not contend.
 */
// Concurrency: `ended` is read before `begun`. Each end follows its begin, so the two sums are equal only if
// no user was active at the moment at which the first sum was read. No user begins later: isZero() is called
// only for parts that new users cannot reach.
public final class InFlightCounter {

    private final LongAdder begun = new LongAdder();
    private final LongAdder ended = new LongAdder();

    /** A user begins; {@link #end} must follow exactly once. */
    public void begin() {
        begun.increment();
    }

    /** A user has ended. */
    public void end() {
        ended.increment();
    }

    /** Whether no user is active; final once no new user can begin. */
    public boolean isZero() {
        long out = ended.sum();
        return begun.sum() == out;
    }
}
