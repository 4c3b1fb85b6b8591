package io.weir.health;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.DoubleSupplier;

/**
 * The schedule of probes while a breaker is open: one per interval, jittered by a tenth, and a limit on
 * concurrent probes.
 *
 * <p>The jitter spreads the probes of several gateways. It is small, because callers lose an interval after
 * the backend's recovery.
 */
final class Recovery {

    private static final double JITTER = 0.1;

    private final long intervalNanos;
    private final int maxProbes;
    private final DoubleSupplier random;
    private final AtomicLong nextProbeAt = new AtomicLong();
    private final AtomicInteger probes = new AtomicInteger();

    Recovery(Duration interval, int maxProbes, DoubleSupplier random) {
        this.intervalNanos = interval.toNanos();
        this.maxProbes = maxProbes;
        this.random = random;
    }

    /** Starts the schedule when the breaker opens: the first probe is due an interval later. */
    void opened(long nowNanos) {
        nextProbeAt.set(nowNanos + jittered());
    }

    /** Whether a probe may start now. Has no side effect. */
    boolean isDue(long nowNanos) {
        return nowNanos - nextProbeAt.get() >= 0 && probes.get() < maxProbes;
    }

    /** Starts a probe if one is due; {@link #ended()} must follow exactly once. */
    boolean tryStart(long nowNanos) {
        long due = nextProbeAt.get();
        if (nowNanos - due < 0) {
            return false;
        }
        if (probes.incrementAndGet() > maxProbes) {
            probes.decrementAndGet();
            return false;
        }
        // Of several threads that find the same probe due, one starts it.
        if (!nextProbeAt.compareAndSet(due, nowNanos + jittered())) {
            probes.decrementAndGet();
            return false;
        }
        return true;
    }

    /** Ends a started probe. */
    void ended() {
        probes.decrementAndGet();
    }

    /** Time until the next probe is due; zero if a probe is due. */
    long nanosToNextProbe(long nowNanos) {
        return Math.max(0, nextProbeAt.get() - nowNanos);
    }

    /** The number of probes under way. */
    int underWay() {
        return probes.get();
    }

    private long jittered() {
        return (long) (intervalNanos * (1 + JITTER * (2 * random.getAsDouble() - 1)));
    }
}
