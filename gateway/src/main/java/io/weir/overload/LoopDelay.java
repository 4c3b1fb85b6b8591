package io.weir.overload;

import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.LongSupplier;

/**
 * How late an event loop runs its tasks: the time from when a task is handed to it to when it runs. A loop that is
 * stuck has not run it yet, and is as late as the task is old.
 *
 * <p>The lower of the last two measurements counts, after CoDel (Nichols and Jacobson, "Controlling Queue Delay", ACM
 * Queue 10(5), 2012): a burst, or a pause of the collector's, shows once and is gone; only a standing queue shows in
 * the minimum. Shedding for what is over already would be a second fault.
 */
// Concurrency: handed-over and run are told from one thread each, the sampler's and the loop's; both fields are
// volatile.
final class LoopDelay implements Runnable {

    private static final long RUNNING = Long.MIN_VALUE;

    private final Executor loop;
    private final LongSupplier nanoClock;
    private volatile long handedOverAt;
    /** {@link #RUNNING} until the task has run. */
    private volatile long delayNanos;

    private long before;

    LoopDelay(Executor loop, LongSupplier nanoClock) {
        this.loop = loop;
        this.nanoClock = nanoClock;
    }

    /** The delay, of which one measurement ends here and the next begins. On the sampler's thread. */
    long sample() {
        long now = nanoClock.getAsLong();
        long measured = delayNanos;
        if (measured == RUNNING) {
            measured = now - handedOverAt;
        } else {
            handOver(now);
        }
        long lower = Math.min(before, measured);
        before = measured;
        return lower;
    }

    @Override
    public void run() {
        delayNanos = nanoClock.getAsLong() - handedOverAt;
    }

    private void handOver(long now) {
        handedOverAt = now;
        delayNanos = RUNNING;
        try {
            loop.execute(this);
        } catch (RejectedExecutionException e) {
            // It has stopped, and is late for nobody.
            delayNanos = 0;
        }
    }
}
