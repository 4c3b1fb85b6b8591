package io.weir.perf.scenario;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/**
 * The longest standstill of this machine: the delay of a thread that wakes every ten milliseconds. After a
 * standstill all requests are late and arrive together: the gateway cannot help that.
 */
final class Standstill implements AutoCloseable {

    private static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final LongSupplier nanos;
    private final LongConsumer park;
    private volatile long longestNanos;
    private volatile boolean closed;

    Standstill(LongSupplier nanos, LongConsumer park) {
        this.nanos = nanos;
        this.park = park;
    }

    static Standstill watch() {
        Standstill standstill = new Standstill(System::nanoTime, LockSupport::parkNanos);
        Thread.ofPlatform().daemon().name("standstill").start(() -> {
            while (!standstill.closed) {
                standstill.wakeUp();
            }
        });
        return standstill;
    }

    void wakeUp() {
        long due = nanos.getAsLong() + INTERVAL_NANOS;
        park.accept(INTERVAL_NANOS);
        longestNanos = Math.max(longestNanos, nanos.getAsLong() - due);
    }

    Duration longest() {
        return Duration.ofNanos(longestNanos);
    }

    @Override
    public void close() {
        closed = true;
    }
}
