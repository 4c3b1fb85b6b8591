package io.weir.wiring;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Selects the requests refused at their head for the access log and traces: at most {@value #PER_SECOND} a
 * second. A line costs a large part of such a refusal, and the gateway is overloaded. The metrics count all.
 */
// Concurrency: one atomic; a thread that loses the race for a line writes none.
final class ShedLines {

    static final int PER_SECOND = 100;

    private static final long GAP_NANOS = TimeUnit.SECONDS.toNanos(1) / PER_SECOND;

    private final LongSupplier nanoClock;
    private final AtomicLong nextAtNanos;

    ShedLines(LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
        this.nextAtNanos = new AtomicLong(nanoClock.getAsLong());
    }

    /** Whether this request is logged. */
    boolean take() {
        long now = nanoClock.getAsLong();
        long due = nextAtNanos.get();
        return now - due >= 0 && nextAtNanos.compareAndSet(due, now + GAP_NANOS);
    }
}
