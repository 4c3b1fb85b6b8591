package io.weir.limit;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The queues of all tenants within one priority. Only tenants whose calls wait have a queue, so the number of
 * waiting calls bounds the memory, not the number of names that callers send. At most {@value #MAX_TENANTS}
 * tenants have a queue of their own; all further tenants share one queue and its turn. Calls without a tenant
 * have a queue that needs no look-up. Not thread-safe.
 */
final class TenantQueues {

    static final int MAX_TENANTS = 1_000;

    private final TenantQueue withoutTenant = new TenantQueue(null);
    private final TenantQueue shared = new TenantQueue(null);
    private final Map<String, TenantQueue> ofTenant = new HashMap<>();

    /** The queue whose turn it is; null while all are empty. */
    private @Nullable TenantQueue turn;

    /** A binary heap: the longest queue first. */
    private @Nullable TenantQueue[] heap = new @Nullable TenantQueue[1];

    private int heapSize;
    private int size;

    int size() {
        return size;
    }

    /** The queues that are not empty. */
    int count() {
        return heapSize;
    }

    boolean isEmpty() {
        return size == 0;
    }

    void add(Waiter waiter) {
        TenantQueue queue = queueOf(waiter.tenant());
        queue.append(waiter);
        size++;
        if (queue.size() == 1) {
            joinRing(queue);
            joinHeap(queue);
        } else {
            siftUp(queue);
        }
    }

    void remove(Waiter waiter, TenantQueue queue) {
        queue.unlink(waiter);
        size--;
        if (queue.size() > 0) {
            siftDown(queue);
            return;
        }
        leaveRing(queue);
        leaveHeap(queue);
        if (queue.tenant != null) {
            ofTenant.remove(queue.tenant);
        }
    }

    /** Removes the next call of the tenant whose turn it is. */
    @Nullable
    Waiter pollNext() {
        TenantQueue queue = turn;
        if (queue == null) {
            return null;
        }
        turn = queue.after;
        Waiter next = Objects.requireNonNull(queue.next());
        remove(next, queue);
        return next;
    }

    /**
     * Removes the oldest call of the tenant with the most waiting calls. That tenant is then served newest
     * first.
     */
    @Nullable
    Waiter pollOldestOfLongest() {
        TenantQueue longest = heap[0];
        if (longest == null) {
            return null;
        }
        longest.serveNewestFirst();
        Waiter oldest = Objects.requireNonNull(longest.oldest());
        remove(oldest, longest);
        return oldest;
    }

    /** Removes the newest call of the tenant with the most waiting calls. The order of service stays. */
    @Nullable
    Waiter pollNewestOfLongest() {
        TenantQueue longest = heap[0];
        if (longest == null) {
            return null;
        }
        Waiter newest = Objects.requireNonNull(longest.newest());
        remove(newest, longest);
        return newest;
    }

    private TenantQueue queueOf(@Nullable String tenant) {
        if (tenant == null) {
            return withoutTenant;
        }
        TenantQueue own = ofTenant.get(tenant);
        if (own != null) {
            return own;
        }
        if (ofTenant.size() >= MAX_TENANTS) {
            return shared;
        }
        TenantQueue added = new TenantQueue(tenant);
        ofTenant.put(tenant, added);
        return added;
    }

    /** Last in the round, just before the queue whose turn it is. */
    private void joinRing(TenantQueue queue) {
        TenantQueue next = turn;
        if (next == null) {
            queue.before = queue;
            queue.after = queue;
            turn = queue;
        } else {
            queue.after = next;
            queue.before = next.before;
            next.before.after = queue;
            next.before = queue;
        }
    }

    private void leaveRing(TenantQueue queue) {
        if (turn == queue) {
            turn = queue.after == queue ? null : queue.after;
        }
        queue.before.after = queue.after;
        queue.after.before = queue.before;
    }

    private void joinHeap(TenantQueue queue) {
        if (heapSize == heap.length) {
            heap = Arrays.copyOf(heap, 2 * heapSize);
        }
        place(queue, heapSize++);
        siftUp(queue);
    }

    private void leaveHeap(TenantQueue queue) {
        int index = queue.heapIndex;
        TenantQueue last = Objects.requireNonNull(heap[--heapSize]);
        heap[heapSize] = null;
        queue.heapIndex = -1;
        if (last != queue) {
            place(last, index);
            siftUp(last);
            siftDown(last);
        }
    }

    private void siftUp(TenantQueue queue) {
        int index = queue.heapIndex;
        while (index > 0) {
            TenantQueue parent = Objects.requireNonNull(heap[(index - 1) / 2]);
            if (parent.size() >= queue.size()) {
                break;
            }
            place(parent, index);
            index = (index - 1) / 2;
        }
        place(queue, index);
    }

    private void siftDown(TenantQueue queue) {
        int index = queue.heapIndex;
        while (2 * index + 1 < heapSize) {
            int child = 2 * index + 1;
            if (child + 1 < heapSize && sizeAt(child + 1) > sizeAt(child)) {
                child++;
            }
            if (sizeAt(child) <= queue.size()) {
                break;
            }
            place(Objects.requireNonNull(heap[child]), index);
            index = child;
        }
        place(queue, index);
    }

    private int sizeAt(int index) {
        return Objects.requireNonNull(heap[index]).size();
    }

    private void place(TenantQueue queue, int index) {
        heap[index] = queue;
        queue.heapIndex = index;
    }
}
