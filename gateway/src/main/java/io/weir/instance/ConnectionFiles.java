package io.weir.instance;

import io.weir.outcome.ThrottledLog;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The files for the connections to all backends, a bound on their number. Without it, connections to a
 * backend that hangs could use all files that the process may open: then the gateway accepts no callers, and
 * other backends seem unreachable.
 *
 * <p>A quarter is reserved, in equal parts for all pools. A pool that has used its part gets more as long as
 * the other three quarters have room. So one pool alone can use three quarters, and each of the others still
 * gets its part.
 *
 * <p>What a pool does not get is a refusal for its calls, and no evidence about its backend.
 */
// Concurrency: `used` changes by CAS. Benign: a pool that opens at the same time makes the parts smaller a
// moment later.
public final class ConnectionFiles {

    private static final Logger log = LoggerFactory.getLogger(ConnectionFiles.class);
    private static final ThrottledLog shortageLog = ThrottledLog.of(ConnectionFiles.class);

    private static final int RESERVED_DIVISOR = 4;

    /** What a connection counts. Over HTTP/2, Reactor Netty has two pools, and both count it. */
    private static final int UNITS = 2;

    private final int limit;
    private final long processLimit;
    private final LongSupplier nanoClock;
    private final AtomicInteger pools = new AtomicInteger();
    /** In {@link #UNITS}. */
    private final AtomicLong used = new AtomicLong();
    /** The last sum of the pools' limits that was reported. */
    private final AtomicLong reported = new AtomicLong();

    /**
     * Files without a connection.
     *
     * @param limit the number of connections
     * @param processLimit the files that the process may open, for the log
     */
    public ConnectionFiles(int limit, long processLimit, LongSupplier nanoClock) {
        this.limit = limit;
        this.processLimit = processLimit;
        this.nanoClock = nanoClock;
    }

    /** Enough files for any number of connections. */
    public static ConnectionFiles unbounded() {
        return new ConnectionFiles(Integer.MAX_VALUE, Long.MAX_VALUE, () -> 0);
    }

    /** The largest number of connections to all backends together. */
    public int limit() {
        return limit;
    }

    /** The connections that are open, or being opened. */
    public int used() {
        return (int) (used.get() / UNITS);
    }

    /** Whether a pool that has used its part gets no more. */
    boolean isShort() {
        return used.get() > free(reserved()) - UNITS;
    }

    void poolOpened() {
        pools.incrementAndGet();
    }

    void poolClosed() {
        pools.decrementAndGet();
    }

    /** The files as one pool of Reactor Netty counts them. */
    Share share(UpstreamProtocol protocol) {
        return new Share(protocol == UpstreamProtocol.H2 ? UNITS / 2 : UNITS);
    }

    /** The files of one pool. */
    final class Share {

        private final int units;

        private Share(int units) {
            this.units = units;
        }

        /**
         * Takes files for more connections of the pool.
         *
         * @param has the connections that the pool has
         * @return the number taken, {@code desired} at most
         */
        int take(int desired, int has) {
            long before = used.getAndUpdate(now -> now + (long) units * available(desired, has, now));
            int taken = available(desired, has, before);
            if (taken < desired) {
                reportShortage();
            }
            return taken;
        }

        /** The files that {@link #take} would take. */
        int available(int desired, int has) {
            return available(desired, has, used.get());
        }

        private int available(int desired, int has, long now) {
            long part = Math.max(UNITS, (long) UNITS * reserved() / Math.max(1, pools.get()));
            long ofReserve = Math.min(part - (long) units * has, free(0) - now);
            long ofOthers = free(reserved()) - now;
            return Math.clamp(Math.max(ofReserve, ofOthers) / units, 0, desired);
        }

        /** Connections are closed. */
        void giveBack(int closed) {
            used.addAndGet(-(long) units * closed);
        }
    }

    private int reserved() {
        return limit / RESERVED_DIVISOR;
    }

    private long free(int reserved) {
        return (long) UNITS * (limit - reserved);
    }

    private void reportShortage() {
        shortageLog.warn(
                nanoClock.getAsLong(),
                () -> "No further connection to a backend: " + used() + " are open (expected: at most " + limit
                        + ", the backends' share of ulimit -n " + processLimit + ")");
    }

    /**
     * Logs once if the limits of all pools together exceed the files.
     *
     * @param connections the sum of those limits
     */
    public void compare(long connections) {
        if (connections > limit && reported.getAndSet(connections) < connections) {
            log.warn(
                    "Connections to backends: at most {} at once, the backends' share of ulimit -n {}; their limits"
                            + " allow {}. Calls that need more are refused with gateway-overloaded",
                    limit,
                    processLimit,
                    connections);
        }
    }
}
