package io.weir.overload;

import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * One backend's exchanges in flight, and its guaranteed share of the {@link InFlightPot}. It outlives a
 * change of the configuration.
 *
 * <p>An exchange beyond the guaranteed share <em>borrows</em> a shared place. No exchange owns a certain
 * place: the number of borrowed ones is {@code max(0, in flight - guaranteed)}.
 */
// Concurrency: one atomic holds both numbers, the guaranteed one in its upper half. Each transition therefore
// decides by the guaranteed number at its own moment whether it crosses it, and the transitions in both
// directions alternate: their sum is the number of borrowed places, also across divisions.
public final class InFlightShare {

    private final AtomicLong state = new AtomicLong();

    /** A share that guarantees nothing yet. */
    public InFlightShare() {}

    /**
     * The share that the configuration gives to a backend.
     *
     * @param share the backend's exchanges
     * @param percent the guaranteed share of the pot in percent; null: an equal one
     */
    public record Claim(InFlightShare share, @Nullable Integer percent) {}

    /** The exchanges in flight. */
    public int inFlight() {
        return inFlight(state.get());
    }

    /** The places that no other backend uses. */
    public int guaranteed() {
        return guaranteed(state.get());
    }

    /** The exchanges beyond the guaranteed share. */
    int borrowed() {
        return borrowed(state.get());
    }

    /** Whether the next exchange would borrow. */
    boolean isUsedUp() {
        long now = state.get();
        return inFlight(now) >= guaranteed(now);
    }

    /** Adds an exchange. Returns whether it borrows; then the pot counts it, too. */
    boolean begin() {
        return borrowed(state.incrementAndGet()) > 0;
    }

    /** Removes an exchange. Returns whether one fewer is borrowed. */
    boolean end() {
        return borrowed(state.getAndDecrement()) > 0;
    }

    /** Guarantees so many places. Returns the change of the number of borrowed ones. */
    int guarantee(int places) {
        while (true) {
            long before = state.get();
            long after = (long) places << Integer.SIZE | inFlight(before);
            if (state.compareAndSet(before, after)) {
                return borrowed(after) - borrowed(before);
            }
        }
    }

    private static int inFlight(long state) {
        return (int) state;
    }

    private static int guaranteed(long state) {
        return (int) (state >>> Integer.SIZE);
    }

    private static int borrowed(long state) {
        return Math.max(0, inFlight(state) - guaranteed(state));
    }
}
