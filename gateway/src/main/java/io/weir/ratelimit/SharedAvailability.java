package io.weir.ratelimit;

import io.weir.ratelimit.SharedBuckets.Taken;
import java.time.Duration;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

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
    private final Duration timeout;
    private final LongSupplier nanoClock;
    private final Consumer<String> onLost;
    private final Runnable onFound;

    /**
     * An unavailable counter.
     *
     * @param timeout how long a request waits for its answer
     * @param onLost called with the cause when the counter is not available any more
     * @param onFound called when it is available
     */
    SharedAvailability(Duration timeout, LongSupplier nanoClock, Consumer<String> onLost, Runnable onFound) {
        this.timeout = timeout;
        this.nanoClock = nanoClock;
        this.onLost = onLost;
        this.onFound = onFound;
    }

    boolean isAvailable() {
        return failures.get() < MAX_FAILURES;
    }

    /**
     * Sends a request, and counts its end. The result has the answer, or the cause of the failure in a
     * {@link CompletionException}.
     */
    CompletionStage<Taken> observe(Supplier<CompletionStage<Taken>> request) {
        long sentAt = nanoClock.getAsLong();
        return request.get().handle((taken, failure) -> {
            if (failure != null) {
                Throwable cause = RedisScript.cause(failure);
                failed(String.valueOf(cause.getMessage()));
                throw new CompletionException(cause);
            }
            // A late answer is no success: its request has counted a failure already.
            if (nanoClock.getAsLong() - sentAt <= timeout.toNanos()) {
                answered();
            }
            return taken;
        });
    }

    /** A request has waited for its answer in vain. */
    void timedOut() {
        failed("no answer in " + timeout.toMillis() + " ms");
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
