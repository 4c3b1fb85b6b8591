package io.weir.slowcaller;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.function.Predicate;

/**
 * A call that may be ended since its caller is slow and others need what the call holds. Any thread may
 * choose it; it ends on its own event loop.
 */
// Concurrency: thread-safe. What a call holds becomes free a moment after the choice. Chosen calls count as
// ended, so that two event loops do not choose too many.
public abstract class EndableCall {

    private static final AtomicIntegerFieldUpdater<EndableCall> CHOSEN =
            AtomicIntegerFieldUpdater.newUpdater(EndableCall.class, "chosen");

    private volatile int chosen;

    /** The rate at which the caller moves bytes; infinite if it is not known. From any thread. */
    public abstract double bytesPerSecond(long now);

    /** Whether the call is chosen to end. */
    final boolean isChosen() {
        return chosen != 0;
    }

    /**
     * Chooses the call, and ends it on its event loop.
     *
     * @return whether it ends; false: another thread has chosen it, or the event loop has stopped
     */
    protected final boolean choose(Executor loop, Runnable end) {
        if (!CHOSEN.compareAndSet(this, 0, 1)) {
            return false;
        }
        try {
            loop.execute(end);
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }

    /** The call continues, and may be chosen again. */
    final void continues() {
        chosen = 0;
    }

    /** The calls that match and are not chosen, the slowest one first. */
    static <C extends EndableCall> List<C> slowestFirst(Collection<C> calls, Predicate<C> which, long now) {
        return calls.stream()
                .filter(one -> !one.isChosen() && which.test(one))
                // Calls cannot be sorted by rates that change meanwhile.
                .map(one -> new Ranked<>(one, one.bytesPerSecond(now)))
                .sorted(Comparator.comparingDouble(Ranked::bytesPerSecond))
                .map(Ranked::call)
                .toList();
    }

    private record Ranked<C>(C call, double bytesPerSecond) {}
}
