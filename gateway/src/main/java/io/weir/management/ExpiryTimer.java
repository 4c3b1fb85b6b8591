package io.weir.management;

import java.util.OptionalLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs one task at the earliest of several moments, with at most one scheduled task at a time. The owner's
 * state decides what is over: the timer only wakes it up, so a task that comes too early or for nothing does
 * no harm. The task sets the timer again.
 */
// Concurrency: guarded by its monitor, which is not held while the task runs.
public final class ExpiryTimer implements AutoCloseable {

    /** Runs a task later. */
    @FunctionalInterface
    public interface Scheduler {

        /**
         * Schedules a task.
         *
         * @return cancels it, and does not interrupt it if it runs already
         */
        Runnable schedule(Runnable task, long delayNanos);
    }

    private final Scheduler scheduler;
    private final LongSupplier nanoClock;
    private final Runnable task;
    private @Nullable Runnable cancelScheduled;
    private boolean isClosed;

    /**
     * A timer that is not set.
     *
     * @param nanoClock the clock of the moments
     */
    public ExpiryTimer(Scheduler scheduler, LongSupplier nanoClock, Runnable task) {
        this.scheduler = scheduler;
        this.nanoClock = nanoClock;
        this.task = task;
    }

    /**
     * Replaces the moment at which the task runs.
     *
     * @param nextNanos the moment; empty: the task does not run
     */
    public synchronized void set(OptionalLong nextNanos) {
        if (cancelScheduled != null) {
            cancelScheduled.run();
            cancelScheduled = null;
        }
        if (!isClosed && nextNanos.isPresent()) {
            cancelScheduled = scheduler.schedule(task, Math.max(0, nextNanos.getAsLong() - nanoClock.getAsLong()));
        }
    }

    /** The task does not run any more, except if it runs already. */
    @Override
    public synchronized void close() {
        isClosed = true;
        set(OptionalLong.empty());
    }
}
