package io.weir.limit;

import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The part of a backend's limit that the calls of one route get before all other calls that wait. The others
 * use it while it is free: it is an order of the queue, and holds no permit back. So it is back at the route
 * as soon as enough of the others' calls have ended.
 *
 * <p>A call counts while it holds a permit, and while it waits with the guarantee. Thread-safe.
 */
public final class GuaranteedShare {

    private static final int ALL_PERCENT = 100;

    private final int percent;
    private final AtomicInteger calls;

    private GuaranteedShare(int percent, AtomicInteger calls) {
        this.percent = percent;
        this.calls = calls;
    }

    /**
     * A share.
     *
     * @param percent of the backend's limit in force; 1 to 100
     * @param before that of the same route in the configuration in force, whose calls go on; null: none
     */
    public static GuaranteedShare of(int percent, @Nullable GuaranteedShare before) {
        return new GuaranteedShare(percent, before == null ? new AtomicInteger() : before.calls);
    }

    /**
     * Counts a call that has to wait, if the route has fewer calls than its share.
     *
     * @param limit the backend's limit in force
     * @return whether the call counts, and goes first
     */
    public boolean tryEnter(int limit) {
        int places = places(limit);
        while (true) {
            int seen = calls.get();
            if (seen >= places) {
                return false;
            } else if (calls.compareAndSet(seen, seen + 1)) {
                return true;
            }
        }
    }

    /** The permits that the share stands for: at least one. */
    public int places(int limit) {
        return Math.max(1, (int) ((long) limit * percent / ALL_PERCENT));
    }

    /** Counts a call that has a permit without the guarantee. */
    public void enter() {
        calls.incrementAndGet();
    }

    /** Ends the count of a call. */
    public void leave() {
        calls.decrementAndGet();
    }

    /** The calls that count now. */
    public int calls() {
        return calls.get();
    }

    @Override
    public String toString() {
        return percent + " %, " + calls + " calls";
    }
}
