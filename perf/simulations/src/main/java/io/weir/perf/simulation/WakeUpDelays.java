package io.weir.perf.simulation;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/**
 * Measures how late this process is: a thread wakes every 10 ms and records its delay. The cause, such as a
 * busy processor or a GC pause, delays requests too, so that their latencies are partly the generator's.
 *
 * <p>The schedule is fixed: a pause of one second counts as a hundred late wake-ups, not as one.
 */
final class WakeUpDelays {

    private static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final RowFile rows;
    private final long began;
    private final LongSupplier nanos;
    private final LongConsumer park;
    private long due;

    WakeUpDelays(RowFile rows, long began) {
        this(rows, began, System::nanoTime, LockSupport::parkNanos);
    }

    WakeUpDelays(RowFile rows, long began, LongSupplier nanos, LongConsumer park) {
        this.rows = rows;
        this.began = began;
        this.nanos = nanos;
        this.park = park;
        this.due = nanos.getAsLong() + INTERVAL_NANOS;
    }

    void start() {
        Thread.ofPlatform().daemon().name("wake-up-delays").start(() -> {
            while (wakeUp()) {}
        });
    }

    /** Waits for the next wake-up and records its delay; returns false if the file is closed. */
    boolean wakeUp() {
        for (long early = due - nanos.getAsLong(); early > 0; early = due - nanos.getAsLong()) {
            park.accept(early);
        }
        long delay = nanos.getAsLong() - due;
        due += INTERVAL_NANOS;
        return rows.add(
                System.currentTimeMillis() - delay / 1_000_000 - began, delay / 1000, "generator", "generator-delay");
    }
}
