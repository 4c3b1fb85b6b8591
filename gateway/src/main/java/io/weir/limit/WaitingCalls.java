package io.weir.limit;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.jspecify.annotations.Nullable;

/**
 * The waiting calls of one bulkhead, in the order in which they are served and evicted. Not thread-safe:
 * {@link PermitQueue} confines it to one thread at a time.
 *
 * <p><b>Order of service</b>: the calls of guaranteed shares first, then the highest priority, except that
 * one of {@value #RESERVE_ONE_IN} permits goes to the lowest priority that waits, so that it does not starve.
 * Within a priority, the tenants take turns. A tenant's calls are served oldest first until one of them is
 * refused, then newest first until none of them waits: under overload, the calls that are served were served
 * quickly.
 *
 * <p><b>Order of eviction</b>: the lowest priority that waits first, except for its reserve of one
 * {@value #RESERVE_ONE_IN}th of the queue (at least one place, if there are two); within it, the tenant with
 * the most waiting calls; its oldest call, or its newest if the queue refuses newcomers. The priorities
 * between have no reserve: in a short queue, two reserves would leave no place for the highest one.
 *
 * <p>Adding, serving and removing a call take constant time, plus time logarithmic in the number of tenants
 * that wait in its priority.
 */
final class WaitingCalls {

    /** The lowest priority gets one of this number of permits, and of this number of places in the queue. */
    static final int RESERVE_ONE_IN = 50;

    /** By rank: the guaranteed calls, and each priority. Null while no call of that rank has waited yet. */
    private final @Nullable TenantQueues[] queues = new @Nullable TenantQueues[1 + Priority.values().length];

    /** The size of each queue, for readers on other threads. */
    private final AtomicIntegerArray sizes = new AtomicIntegerArray(queues.length);

    /** The guaranteed calls of each priority, for readers on other threads. */
    private final AtomicIntegerArray guaranteed = new AtomicIntegerArray(Priority.values().length);

    private int size;
    /** Permits that went to a higher priority while a lower one waited. */
    private int passedOver;

    int size() {
        return size;
    }

    private static int rank(Waiter waiter) {
        return waiter.isGuaranteed() ? 0 : rank(waiter.priority());
    }

    private static int rank(Priority priority) {
        return 1 + priority.rank();
    }

    /** The waiting calls of a priority, the guaranteed ones included. From any thread. */
    int size(Priority priority) {
        return sizes.getOpaque(rank(priority)) + guaranteed.getOpaque(priority.rank());
    }

    /** Whether a call of a lower rank waits that is not protected by its reserve. From any thread. */
    boolean hasLower(Waiter newcomer, int capacity) {
        int protectedCalls = reserve(capacity);
        for (int rank = queues.length - 1; rank > rank(newcomer); rank--) {
            int waiting = sizes.getOpaque(rank);
            if (waiting > protectedCalls) {
                return true;
            }
            protectedCalls = waiting > 0 ? 0 : protectedCalls;
        }
        return false;
    }

    /** The places of the lowest priority from which no call is evicted in favour of a higher one. */
    private static int reserve(int capacity) {
        return capacity < 2 ? 0 : Math.max(1, capacity / RESERVE_ONE_IN);
    }

    private void publishSize(int rank, Waiter changed, int change) {
        TenantQueues queue = queues[rank];
        sizes.setOpaque(rank, queue == null ? 0 : queue.size());
        if (rank == 0) {
            int priority = changed.priority().rank();
            guaranteed.setOpaque(priority, guaranteed.getPlain(priority) + change);
        }
    }

    int tenants(Priority priority) {
        TenantQueues queue = queues[rank(priority)];
        return queue == null ? 0 : queue.count();
    }

    void add(Waiter waiter) {
        int rank = rank(waiter);
        TenantQueues queue = queues[rank];
        if (queue == null) {
            queue = new TenantQueues();
            queues[rank] = queue;
        }
        queue.add(waiter);
        size++;
        publishSize(rank, waiter, 1);
    }

    /**
     * Removes a call if it is in the queue.
     *
     * @param refused whether its tenant is then served newest first
     */
    boolean remove(Waiter waiter, boolean refused) {
        TenantQueue tenant = waiter.queue;
        if (tenant == null) {
            return false;
        }
        if (refused) {
            tenant.serveNewestFirst();
        }
        int rank = rank(waiter);
        Objects.requireNonNull(queues[rank]).remove(waiter, tenant);
        size--;
        publishSize(rank, waiter, -1);
        return true;
    }

    /** Removes the call that is served next; null if none waits. */
    @Nullable
    Waiter pollNext() {
        TenantQueues highest = null;
        TenantQueues lowest = null;
        for (TenantQueues queue : queues) {
            if (queue != null && !queue.isEmpty()) {
                highest = highest == null ? queue : highest;
                lowest = queue;
            }
        }
        if (highest == null || lowest == null) {
            return null;
        }
        TenantQueues chosen = highest;
        if (highest != lowest && ++passedOver >= RESERVE_ONE_IN) {
            passedOver = 0;
            chosen = lowest;
        }
        return taken(chosen.pollNext());
    }

    /**
     * Removes the call that is evicted next; null if none waits.
     *
     * @param capacity the capacity of the whole queue
     * @param newest whether the newest call of the chosen tenant is evicted, instead of the oldest
     */
    @Nullable
    Waiter pollVictim(int capacity, boolean newest) {
        TenantQueues lowest = null;
        TenantQueues chosen = null;
        for (int rank = queues.length - 1; rank >= 0 && chosen == null; rank--) {
            TenantQueues queue = queues[rank];
            if (queue != null && !queue.isEmpty()) {
                // The reserve is for one priority, and the highest one needs none.
                boolean hasReserve = lowest == null && rank > 0;
                chosen = hasReserve && queue.size() <= reserve(capacity) ? null : queue;
                lowest = lowest == null ? queue : lowest;
            }
        }
        TenantQueues victims = chosen == null ? lowest : chosen;
        if (victims == null) {
            return null;
        }
        return taken(newest ? victims.pollNewestOfLongest() : victims.pollOldestOfLongest());
    }

    private @Nullable Waiter taken(@Nullable Waiter waiter) {
        if (waiter != null) {
            size--;
            publishSize(rank(waiter), waiter, -1);
        }
        return waiter;
    }
}
