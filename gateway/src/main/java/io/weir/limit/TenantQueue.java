package io.weir.limit;

import org.jspecify.annotations.Nullable;

/**
 * The waiting calls of one tenant and priority: a doubly linked list through the waiters themselves, oldest
 * first. Not thread-safe.
 */
final class TenantQueue {

    /** Null for the calls without a tenant, and for the tenants that share a queue. */
    final @Nullable String tenant;

    /** Neighbours in the ring of tenants that take turns; itself while it is the only one. */
    TenantQueue before = this;

    TenantQueue after = this;
    /** Position in the heap by size; -1 while empty. */
    int heapIndex = -1;

    private @Nullable Waiter oldest;
    private @Nullable Waiter newest;
    private int size;
    private boolean newestFirst;

    TenantQueue(@Nullable String tenant) {
        this.tenant = tenant;
    }

    int size() {
        return size;
    }

    /** Serves the newest call first until the queue is empty. */
    void serveNewestFirst() {
        newestFirst = true;
    }

    @Nullable
    Waiter next() {
        return newestFirst ? newest : oldest;
    }

    @Nullable
    Waiter oldest() {
        return oldest;
    }

    @Nullable
    Waiter newest() {
        return newest;
    }

    void append(Waiter waiter) {
        Waiter last = newest;
        waiter.queue = this;
        waiter.older = last;
        waiter.newer = null;
        if (last == null) {
            oldest = waiter;
        } else {
            last.newer = waiter;
        }
        newest = waiter;
        size++;
    }

    void unlink(Waiter waiter) {
        Waiter olderOne = waiter.older;
        Waiter newerOne = waiter.newer;
        if (olderOne == null) {
            oldest = newerOne;
        } else {
            olderOne.newer = newerOne;
        }
        if (newerOne == null) {
            newest = olderOne;
        } else {
            newerOne.older = olderOne;
        }
        waiter.queue = null;
        waiter.older = null;
        waiter.newer = null;
        size--;
        if (size == 0) {
            newestFirst = false;
        }
    }
}
