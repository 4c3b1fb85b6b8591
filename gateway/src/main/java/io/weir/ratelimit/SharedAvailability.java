package io.weir.ratelimit;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * Decides whether requests may wait for the shared counter: until it has failed {@value #MAX_FAILURES} times
 * in a row, and again after its first answer in time.
 *
 * <p>It begins unavailable, since there is no connection yet.
 */
// Concurrency: `failures` is the only state. The thread that moves it across the bound reports the change, so
// each change is reported once.
final class SharedAvailability {

    static final int MAX_FAILURES = 5;

    private final AtomicInteger failures = new AtomicInteger(MAX_FAILURES);
    private final Consumer<String> onLost;
    private final Runnable onFound;

    /**
     * An unavailable counter.
     *
     * @param onLost called with the cause when the counter is not available any more
     * @param onFound called when it is available
     */
    SharedAvailability(Consumer<String> onLost, Runnable onFound) {
        this.onLost = onLost;
        this.onFound = onFound;
    }

    boolean isAvailable() {
        return failures.get() < MAX_FAILURES;
    }

    /** The counter has answered in time. */
    void answered() {
        // The usual case writes nothing that other threads read.
        if (failures.get() != 0 && failures.getAndSet(0) >= MAX_FAILURES) {
            onFound.run();
        }
    }

    /** The counter has not answered in time, or with an error. */
    void failed(String why) {
        if (failures.getAndUpdate(count -> Math.min(count + 1, MAX_FAILURES)) == MAX_FAILURES - 1) {
            onLost.accept(why);
        }
    }

    /** The connection is lost: no request can be answered. */
    void lost(String why) {
        if (failures.getAndSet(MAX_FAILURES) < MAX_FAILURES) {
            onLost.accept(why);
        }
    }
}
