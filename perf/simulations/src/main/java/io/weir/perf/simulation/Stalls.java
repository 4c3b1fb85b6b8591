package io.weir.perf.simulation;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/**
 * How late this process is: a thread that wants to wake every {@link #INTERVAL_MILLIS} measures by how much it does not. What holds it up (no processor, a pause for
 * garbage) holds requests up too, and their times are then partly the generator's.
 *
 * <p>Its times stand beforehand, whatever becomes of one: a second's stop is a hundred wake-ups that are late, not one.
 */
final class Stalls {

    static final int INTERVAL_MILLIS = 10;

    private static final long INTERVAL = TimeUnit.MILLISECONDS.toNanos(INTERVAL_MILLIS);

    private final Rows rows;
    private final long began;
    private final LongSupplier nanos;
    private final LongConsumer park;
    private long due;

    Stalls(Rows rows, long began) {
        this(rows, began, System::nanoTime, LockSupport::parkNanos);
    }

    Stalls(Rows rows, long began, LongSupplier nanos, LongConsumer park) {
        this.rows = rows;
        this.began = began;
        this.nanos = nanos;
        this.park = park;
        this.due = nanos.getAsLong() + INTERVAL;
    }

    void start() {
        Thread.ofPlatform().daemon().name("stalls").start(this::watch);
    }

    private void watch() {
        while (wake()) {}
    }

    /** Waits for the next wake-up, and writes down how late it is; false if nobody writes any more. */
    boolean wake() {
        for (long early = due - nanos.getAsLong(); early > 0; early = due - nanos.getAsLong()) {
            park.accept(early);
        }
        long late = nanos.getAsLong() - due;
        due += INTERVAL;
        return rows.add(System.currentTimeMillis() - late / 1_000_000 - began, late / 1000, "", "generator-delay");
    }
}
