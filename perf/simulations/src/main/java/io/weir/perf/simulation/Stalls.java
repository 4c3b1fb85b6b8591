package io.weir.perf.simulation;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * How late this process is: a thread that wants to wake every {@link #INTERVAL_MILLIS} measures by how much it does not. What holds it up (no processor, a pause for
 * garbage) holds requests up too, and their times are then partly the generator's.
 */
final class Stalls {

    static final int INTERVAL_MILLIS = 10;

    private final Rows rows;
    private final long began;

    Stalls(Rows rows, long began) {
        this.rows = rows;
        this.began = began;
    }

    void start() {
        Thread.ofPlatform().daemon().name("stalls").start(this::watch);
    }

    @SuppressWarnings("InfiniteLoop") // It ends with the process.
    private void watch() {
        long interval = TimeUnit.MILLISECONDS.toNanos(INTERVAL_MILLIS);
        while (true) {
            long due = System.nanoTime() + interval;
            for (long early = interval; early > 0; early = due - System.nanoTime()) {
                LockSupport.parkNanos(early);
            }
            rows.add(System.currentTimeMillis() - began, (System.nanoTime() - due) / 1000, "", "generator-delay");
        }
    }
}
