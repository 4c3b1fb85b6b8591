package io.weir.perf.scenario;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/**
 * For how long at most this machine stood still: a thread that wants to wake every ten milliseconds wakes so much later. Whoever waited meanwhile had waited for too
 * long, and all that was due came at once: that is not the gateway's doing.
 */
final class Standstill implements AutoCloseable {

    private static final long INTERVAL = TimeUnit.MILLISECONDS.toNanos(10);

    private final LongSupplier nanos;
    private final LongConsumer park;
    private volatile long longest;
    private volatile boolean closed;

    Standstill(LongSupplier nanos, LongConsumer park) {
        this.nanos = nanos;
        this.park = park;
    }

    /** Watches from now on. */
    static Standstill watch() {
        Standstill standstill = new Standstill(System::nanoTime, LockSupport::parkNanos);
        Thread.ofPlatform().daemon().name("standstill").start(standstill::wakeUntilClosed);
        return standstill;
    }

    private void wakeUntilClosed() {
        while (!closed) {
            wake();
        }
    }

    /** Waits for the next wake-up. */
    void wake() {
        long due = nanos.getAsLong() + INTERVAL;
        park.accept(INTERVAL);
        longest = Math.max(longest, nanos.getAsLong() - due);
    }

    /** The longest so far. */
    Duration longest() {
        return Duration.ofNanos(longest);
    }

    @Override
    public void close() {
        closed = true;
    }
}
