package io.weir.overload;

import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.LongSupplier;

/**
 * The delay of an event loop: the time between the submission of a task and its execution. A stuck loop has
 * not executed the task yet; its delay is the task's age.
 *
 * <p>The lower of the last two measurements counts, after CoDel (Nichols and Jacobson, "Controlling Queue
 * Delay", ACM Queue 10(5), 2012). A burst or a garbage collection pause delays one measurement only; the
 * minimum shows only a standing queue. Shedding load for a delay that is already over would be a second
 * fault.
 */
// Concurrency: the sampler's thread submits, the loop's thread executes. Both shared fields are volatile, and
// `delayNanos` hands the task from one thread to the other. `previousNanos` belongs to the sampler's thread.
final class LoopDelay implements Runnable {

    private static final long PENDING = Long.MIN_VALUE;

    private final Executor loop;
    private final LongSupplier nanoClock;
    private volatile long submittedAtNanos;
    /** {@link #PENDING} until the task has run. */
    private volatile long delayNanos;

    private long previousNanos;

    LoopDelay(Executor loop, LongSupplier nanoClock) {
        this.loop = loop;
        this.nanoClock = nanoClock;
    }

    /** Ends one measurement, begins the next, and returns the delay. For the sampler's thread. */
    long sample() {
        long now = nanoClock.getAsLong();
        long measured = delayNanos;
        if (measured == PENDING) {
            measured = now - submittedAtNanos;
        } else {
            submit(now);
        }
        long lower = Math.min(previousNanos, measured);
        previousNanos = measured;
        return lower;
    }

    @Override
    public void run() {
        delayNanos = nanoClock.getAsLong() - submittedAtNanos;
    }

    private void submit(long now) {
        submittedAtNanos = now;
        delayNanos = PENDING;
        try {
            loop.execute(this);
        } catch (RejectedExecutionException e) {
            // The loop has stopped: no request waits for it.
            delayNanos = 0;
        }
    }
}
