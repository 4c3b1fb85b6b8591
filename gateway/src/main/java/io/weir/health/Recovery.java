package io.weir.health;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.DoubleSupplier;

/**
 * The trickle of probes while a breaker is open: one every interval, jittered by a tenth, at most so many at once.
 *
 * <p>The jitter keeps the probes of several gateways apart; it is small, because the interval is the time that callers
 * lose after a heal.
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

    /** The breaker opened: the first probe is due an interval later. */
    void opened(long nowNanos) {
        nextProbeAt.set(nowNanos + jittered());
    }

    /** Whether a probe may start now; changes nothing. */
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
        // Of those who see the same moment due, one wins it.
        if (!nextProbeAt.compareAndSet(due, nowNanos + jittered())) {
            probes.decrementAndGet();
            return false;
        }
        return true;
    }

    /** A started probe is over. */
    void ended() {
        probes.decrementAndGet();
    }

    /** Time until the next probe is due; zero if it is. */
    long nanosToNextProbe(long nowNanos) {
        return Math.max(0, nextProbeAt.get() - nowNanos);
    }

    int underWay() {
        return probes.get();
    }

    private long jittered() {
        return (long) (intervalNanos * (1 + JITTER * (2 * random.getAsDouble() - 1)));
    }
}
