package io.weir.limit;

import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * An exact limit on concurrent calls, with a bounded queue in front. No method waits for a permit: a waiter
 * is a callback, and the methods may be called on event loops. While no call waits, every decision about a
 * permit is one compare-and-set. While calls wait, a lock is held for the constant time of one change of the
 * queue.
 *
 * <p>A call that holds a permit gives it back with {@link #release()} exactly once. The bulkhead counts
 * permits and does not know their holders. It notices a surplus release only if no permit is in use;
 * otherwise the surplus release admits one call too many. The holder must prevent that.
 *
 * <p>A released permit does not become free while a call waits: the same compare-and-set promises it to a
 * waiter, so no new call can overtake the queue. From then until a waiter takes it, the permit is
 * <i>promised</i> and counts as in use. A waiter may still {@linkplain Waiter#leave() leave} at that moment;
 * the permit then goes to the next waiter.
 *
 * <pre>
 *   enter ──► permit free? ──► GRANTED ──────────────────────────────► release
 *                  │ no                                                  │
 *                  ▼                                                     ▼
 *             queue full? ──► no: QUEUED ──► granted() ◄─── yes ── calls waiting? ──► no: permit is free
 *                  │ yes              ├────► leave(), expire()
 *                  ▼                  └────► evicted() (EVICT_OLDEST only)
 *                FULL (REFUSE_NEWCOMER), or a waiter is evicted (EVICT_OLDEST)
 * </pre>
 *
 * <p>The order of the queue depends on {@link Overflow}, and within it on the
 * {@linkplain Waiter#priority() priority} and the {@linkplain Waiter#tenant() tenant} of each call;
 * {@link WaitingCalls} describes it. Calls that do not set the two are served in order of arrival.
 *
 * <p>The limits can be {@linkplain #resize resized} at any time. A lower limit revokes no permit; it admits
 * no call until enough permits are released.
 *
 * <p>A bulkhead that is not {@linkplain #enforce enforced} has a second one for its dry run, always with the
 * same limits.
 */
// Concurrency: `word` packs the number of waiters, the permits in use and the limit. Every decision about a
// permit or a place (granted, queued, full, handed on, resized) is one CAS on it (FULL is one read), and is
// linearizable there. Invariant after every CAS: waiters exist only while inUse >= maxConcurrentCalls. So a
// call or a release that concerns no waiter needs no lock. PermitQueue describes the others.
//
// A permit reaches a waiter by the CAS WAITING -> GRANTED, which competes with leave()'s WAITING -> LEFT and
// with WAITING -> EVICTED: exactly one of them succeeds.
public final class QueueingBulkhead {

    /** The largest value of either limit. The packed word cannot count more. */
    public static final int LARGEST = 1_000_000;

    /** A {@link PermitWord}. */
    private final AtomicLong word;

    private final PermitQueue queue;

    /** Null: the bulkhead is enforced. */
    private volatile @Nullable QueueingBulkhead dryRun;

    /** The treatment of a call that finds the queue full. */
    public enum Overflow {
        /**
         * The call is refused. The queue is served in order of arrival. A call of a higher priority than a
         * waiter's, or with a tenant, is queued instead, and one waiter is {@linkplain
         * Waiter#evicted() evicted}: of the lowest priority, of the tenant with the most waiters, the newest
         * one.
         */
        REFUSE_NEWCOMER,
        /**
         * The call is queued, and one waiter is {@linkplain Waiter#evicted() evicted}: of the lowest
         * priority, of the tenant with the most waiters, the oldest one. From then on that tenant's calls are
         * served newest first, until none of them waits. The evicted waiter may be the call itself. With a
         * capacity of 0 the call is refused.
         */
        EVICT_OLDEST
    }

    /** The result of asking for a permit. */
    public enum Entry {
        /** The call holds a permit. */
        GRANTED,
        /**
         * The call is in the queue: {@link Waiter#granted()} follows or was already called, unless the call
         * leaves.
         */
        QUEUED,
        /** Refused: no permit is free and the queue is full. */
        FULL
    }

    /**
     * A bulkhead with all permits free, and {@link Overflow#REFUSE_NEWCOMER}.
     *
     * @param maxConcurrentCalls the limit on concurrent calls; 1 to {@value #LARGEST}
     * @param queueCapacity the limit on waiters; 0 (no queue) to {@value #LARGEST}
     */
    public QueueingBulkhead(int maxConcurrentCalls, int queueCapacity) {
        this(maxConcurrentCalls, queueCapacity, Overflow.REFUSE_NEWCOMER);
    }

    /**
     * A bulkhead with all permits free.
     *
     * @param maxConcurrentCalls the limit on concurrent calls; 1 to {@value #LARGEST}
     * @param queueCapacity the limit on waiters; 0 (no queue) to {@value #LARGEST}
     * @param overflow the treatment of a call that finds the queue full
     */
    public QueueingBulkhead(int maxConcurrentCalls, int queueCapacity, Overflow overflow) {
        requireInRange("max-concurrent-calls", maxConcurrentCalls, 1);
        requireInRange("queue-capacity", queueCapacity, 0);
        this.word = new AtomicLong(maxConcurrentCalls);
        this.queue = new PermitQueue(word, queueCapacity, overflow);
    }

    /**
     * Sets whether calls wait and are refused, or only counted as such in the {@link #dryRun}. A dry run
     * starts with the present limits, and goes on while it is asked for again. One thread at a time.
     */
    public void enforce(boolean isEnforced) {
        if (isEnforced) {
            dryRun = null;
        } else if (dryRun == null) {
            dryRun = new QueueingBulkhead(maxConcurrentCalls(), queueCapacity(), queue.overflow());
        }
    }

    /** Whether calls wait and are refused. */
    public boolean isEnforced() {
        return dryRun == null;
    }

    /**
     * The bulkhead that counts the calls which this one would refuse; null: this one is enforced. Its users
     * read it once for each call.
     */
    public @Nullable QueueingBulkhead dryRun() {
        return dryRun;
    }

    /** Takes a permit if one is free. Never waits, and never overtakes the queue. */
    public boolean tryAcquire() {
        while (true) {
            long seen = word.get();
            if (PermitWord.inUse(seen) >= PermitWord.limit(seen)) {
                return false;
            } else if (word.compareAndSet(seen, seen + PermitWord.ONE_IN_USE)) {
                return true;
            }
        }
    }

    /**
     * Takes a permit even if none is free, and overtakes the queue, as if the limit were higher. For a dry
     * run, which counts calls and refuses none. Waiters wait until enough permits are released.
     *
     * @return false only if {@value #LARGEST} permits are in use
     */
    public boolean acquireAnyway() {
        while (true) {
            long seen = word.get();
            if (PermitWord.inUse(seen) >= LARGEST) {
                return false;
            } else if (word.compareAndSet(seen, seen + PermitWord.ONE_IN_USE)) {
                return true;
            }
        }
    }

    /**
     * Takes a permit, or a place in the queue if none is free.
     *
     * @param waiter a new waiter for every call. If it {@linkplain Waiter#leave() leaves} before this method
     *     returns, it holds no permit, and the result is {@link Entry#QUEUED} or {@link Entry#FULL}
     * @throws IllegalStateException if the waiter has already entered a bulkhead
     */
    public Entry enter(Waiter waiter) {
        return enter(waiter, 0);
    }

    /**
     * The same; the queue of a bulkhead that refuses newcomers is longer for this call.
     *
     * @param more places beyond the queue's capacity
     */
    public Entry enter(Waiter waiter, int more) {
        waiter.bind(queue);
        while (true) {
            long seen = word.get();
            if (PermitWord.inUse(seen) >= PermitWord.limit(seen)) {
                Entry entry = queue.enqueue(waiter, more);
                if (entry != null) {
                    return entry;
                }
            } else if (word.compareAndSet(seen, seen + PermitWord.ONE_IN_USE)) {
                return admit(waiter);
            }
        }
    }

    private Entry admit(Waiter waiter) {
        if (waiter.take()) {
            return Entry.GRANTED;
        }
        release();
        return Entry.QUEUED;
    }

    /**
     * Gives a permit back; exactly once for each permit. If calls wait, the next of them receives it: its
     * {@link Waiter#granted()} runs on this thread before this method returns, or on the thread that serves
     * the queue at this moment. If this method is called within another {@code granted()}, it runs after that
     * one has returned.
     *
     * @throws IllegalStateException if no permit is in use
     */
    public void release() {
        while (true) {
            long seen = word.get();
            int inUse = PermitWord.inUse(seen);
            if (inUse == 0) {
                throw new IllegalStateException("release without a permit in use: " + describe(seen));
            } else if (PermitWord.queued(seen) > 0 && inUse <= PermitWord.limit(seen)) {
                if (queue.handOn()) {
                    return;
                }
            } else if (word.compareAndSet(seen, seen - PermitWord.ONE_IN_USE)) {
                return;
            }
        }
    }

    /**
     * Changes both limits at once, while calls are in flight. A higher limit admits waiters. A lower limit
     * revokes no permit. A smaller queue evicts its surplus if the bulkhead evicts at all.
     *
     * @param maxConcurrentCalls the limit on concurrent calls; 1 to {@value #LARGEST}
     * @param queueCapacity the limit on waiters; 0 to {@value #LARGEST}
     */
    public void resize(int maxConcurrentCalls, int queueCapacity) {
        resize(maxConcurrentCalls, queueCapacity, queue.overflow());
    }

    /**
     * Changes both limits as {@link #resize(int, int)} does, and the treatment of calls that find the queue
     * full. Waiting calls keep their places.
     */
    public void resize(int maxConcurrentCalls, int queueCapacity, Overflow overflow) {
        requireInRange("max-concurrent-calls", maxConcurrentCalls, 1);
        requireInRange("queue-capacity", queueCapacity, 0);
        queue.resize(maxConcurrentCalls, queueCapacity, overflow);
        QueueingBulkhead counting = dryRun;
        if (counting != null) {
            counting.resize(maxConcurrentCalls, queueCapacity, overflow);
        }
    }

    /** Whether a call would have to wait, or would be refused. */
    public boolean isFull() {
        long seen = word.get();
        return PermitWord.inUse(seen) >= PermitWord.limit(seen) && isEnforced();
    }

    /**
     * Permits in use, promised ones included. Above the limit only after it was lowered or {@link
     * #acquireAnyway}.
     */
    public int inUse() {
        return PermitWord.inUse(word.get());
    }

    /** Waiters in the queue. */
    public int queued() {
        return PermitWord.queued(word.get());
    }

    /** Waiters of a priority. May be ahead of {@link #queued()}, or behind it, while calls enter or leave. */
    public int queued(Priority priority) {
        return queue.size(priority);
    }

    /**
     * For tests: the tenants that have a queue of their own or share one. Read while no other thread is
     * active.
     */
    int queuesOfTenants(Priority priority) {
        return queue.tenants(priority);
    }

    /** The limit on concurrent calls. */
    public int maxConcurrentCalls() {
        return PermitWord.limit(word.get());
    }

    /** The limit on waiters. */
    public int queueCapacity() {
        return queue.capacity();
    }

    @Override
    public String toString() {
        return describe(word.get());
    }

    private String describe(long seen) {
        return "%d of %d in use, %d of %d queued"
                .formatted(PermitWord.inUse(seen), PermitWord.limit(seen), PermitWord.queued(seen), queue.capacity());
    }

    private static void requireInRange(String name, int value, int smallest) {
        if (value < smallest || value > LARGEST) {
            throw new IllegalArgumentException("%s: %d (expected: %d to %d)".formatted(name, value, smallest, LARGEST));
        }
    }
}
