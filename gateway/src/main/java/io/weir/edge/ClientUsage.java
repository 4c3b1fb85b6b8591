package io.weir.edge;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The connections and requests of one client. Both numbers are in one atomic, so that the entry is retired
 * only if both are 0.
 *
 * <p>Concurrency: lock-free. A retired entry takes nothing more; its client gets a new entry.
 */
final class ClientUsage {

    /** What a client has several of. */
    enum Unit {
        CONNECTION(1L << 32),
        REQUEST(1);

        private final long one;

        Unit(long one) {
            this.one = one;
        }

        private int in(long counts) {
            return (int) (this == CONNECTION ? counts >>> 32 : counts);
        }
    }

    /** The result of {@link #tryAdd}. */
    enum Result {
        ADDED,
        /** The limit is reached. */
        FULL,
        /** The entry is retired. */
        RETIRED
    }

    private static final long NOTHING = 0;
    private static final long RETIRED = -1;

    private final long client;
    private final AtomicLong counts;

    /** The entry of a client that has one connection or request. */
    ClientUsage(long client, Unit first) {
        this.client = client;
        this.counts = new AtomicLong(first.one);
    }

    /** The client's key. */
    long client() {
        return client;
    }

    /** Adds one, unless the client has {@code limit} already. */
    Result tryAdd(Unit unit, int limit) {
        while (true) {
            long current = counts.get();
            if (current == RETIRED) {
                return Result.RETIRED;
            }
            if (unit.in(current) >= limit) {
                return Result.FULL;
            }
            if (counts.compareAndSet(current, current + unit.one)) {
                return Result.ADDED;
            }
        }
    }

    /** Removes one; returns whether this has retired the entry, because nothing is left. */
    boolean removeAndTryRetire(Unit unit) {
        return counts.addAndGet(-unit.one) == NOTHING && counts.compareAndSet(NOTHING, RETIRED);
    }

    /** The number of connections or requests; 0 if the entry is retired. */
    int count(Unit unit) {
        long current = counts.get();
        return current == RETIRED ? 0 : unit.in(current);
    }
}
