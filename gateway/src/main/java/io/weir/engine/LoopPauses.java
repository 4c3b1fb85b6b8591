package io.weir.engine;

import io.netty.channel.EventLoop;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/**
 * The pauses of one event loop: the time for which the loop processed nothing, for example during a garbage
 * collection or while the machine stood still. An answer may have waited unread for that time, so a pause is
 * no evidence against the backend.
 *
 * <p>A task runs every {@value #TICK_MILLIS} ms while exchanges are in flight. Between two of its runs at
 * most two ticks count as time that the loop has spent; the rest is a pause. The tick that follows a pause
 * runs in a later iteration of the loop, after the loop has read the answers that arrived meanwhile.
 *
 * <p>Confined to the event loop.
 */
final class LoopPauses implements Runnable {

    static final long TICK_MILLIS = 20;

    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(TICK_MILLIS);
    private static final long LONGEST_TICK_NANOS = 2 * TICK_NANOS;

    private final EventLoop loop;
    private final LongSupplier nanoClock;
    private final BooleanSupplier isNeeded;
    private boolean isTicking;
    private long lastTickAt;
    private long pausedNanos;

    /**
     * The pauses of a loop whose measurement has not started.
     *
     * @param isNeeded whether exchanges are in flight; otherwise the measurement stops
     */
    LoopPauses(EventLoop loop, LongSupplier nanoClock, BooleanSupplier isNeeded) {
        this.loop = loop;
        this.nanoClock = nanoClock;
        this.isNeeded = isNeeded;
    }

    /** Starts the measurement, unless it is already running. */
    void start() {
        if (!isTicking) {
            isTicking = true;
            lastTickAt = nanoClock.getAsLong();
            schedule();
        }
    }

    /** The sum of all pauses so far, a present one included. Only differences have a meaning. */
    long nanos(long now) {
        return isTicking ? pausedNanos + presentNanos(now) : pausedNanos;
    }

    @Override
    public void run() {
        long now = nanoClock.getAsLong();
        pausedNanos += presentNanos(now);
        lastTickAt = now;
        if (isNeeded.getAsBoolean()) {
            schedule();
        } else {
            isTicking = false;
        }
    }

    private long presentNanos(long now) {
        return Math.max(0, now - lastTickAt - LONGEST_TICK_NANOS);
    }

    @SuppressWarnings("FutureReturnValueIgnored") // The task ends by itself.
    private void schedule() {
        try {
            loop.schedule(this, TICK_NANOS, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            // The event loop has stopped, so its exchanges have ended.
            isTicking = false;
        }
    }
}
