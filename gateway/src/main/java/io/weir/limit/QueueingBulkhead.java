package io.weir.limit;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * An exact limit on concurrent calls, with a bounded queue in front. No method blocks: a waiter is a
 * callback, every decision about a permit is one compare-and-set, and the methods may be called on event
 * loops.
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
 * <p>This class stays whole although it has more than 400 lines: one comment proves the protocol between the
 * packed word, the queue and the waiters, and none of these parts can be understood without the others.
 */
// Concurrency: `word` packs the number of waiters, the permits in use and the revision of the limits. Every
// decision about a permit or a place (granted, queued, full, handed on, resized) is one CAS on it (FULL is
// one read), and is linearizable there. Invariant after every CAS: waiters exist only while inUse >=
// maxConcurrentCalls.
//
// `waiting` only finds the waiter of a permit that the word has promised. It is confined to the thread that
// serves: `serving` counts requests to serve, the thread that raises it from 0 serves all requests until it
// is 0 again, and all others go on at once. Arriving and leaving waiters reach the serving thread through two
// Treiber stacks, which it takes whole, and promised permits through a counter. A serving thread takes the
// leavers before the arrivals, so a waiter that was pushed as an arrival is always linked before it is
// handled as a leaver.
//
// The word may count waiters and promises that the queue does not know yet. Let `promises` be the permits
// that were promised by a CAS on the word and that no waiter has taken, and `unresolved` the waiters that the
// word has counted and that were neither granted a permit nor taken back:
//
//     queued + promises = unresolved                                                              (1)
//
//   thread A              thread B             word (limit 1)       effect
//   --------------------- -------------------- -------------------- ------------------------------------
//   enter: queued+1                            in use 1, queued 1   A is counted, but not linked yet
//                         release: queued-1    in use 1, queued 0   the permit is promised
//                         serve: no waiter     in use 1, queued 0   the promise stays in the counter
//   push, serve: take                          in use 1, queued 0   A grants itself the permit
//
//   Each thread writes its own side (the stack, the counter) before it requests to serve, so the service that
//   follows the later of the two sees both.
//
//   thread A              thread B             word (limit 1)       effect
//   --------------------- -------------------- -------------------- ------------------------------------
//                         release: queued-1    in use 1, queued 0   promised to A's waiter
//   leave: state LEFT                                               A wins against the grant
//                         serve: take fails    in use 0, queued 0   A's waiter is taken back: no waiter is
//                                                                   left without a promise, so one promise
//                                                                   is cancelled
//
//   A waiter that leaves or is evicted is taken back exactly once: when the serving thread unlinks it, or
//   finds on its arrival that it has left. Taking back is one CAS: a waiter less if queued > 0, else by (1) a
//   promise is surplus, so a permit in use less. The releasing thread may not have counted that promise yet;
//   the counter is -1 until it has.
//
// A permit reaches a waiter by the CAS WAITING -> GRANTED, which competes with leave()'s WAITING -> LEFT and
// with WAITING -> EVICTED: exactly one of them succeeds. So by (1), while no call is under way `queued` is
// the length of the queue, and every waiter waits for a permit that is really in use.
//
// The limits are beside the word, which contains their revision. A resize publishes the new limits, then
// moves the word to their revision and, in the same CAS, promises the new permits to waiters. Any other
// thread that finds the two apart does that for it, so no thread waits for a suspended resize. The revision
// has 23 bits: a CAS that is delayed by exactly 2^23 resizes could mistake old limits for new ones.
//
// Benign: two calls that enter at once are queued in the order in which they are pushed, not in which they
// are counted. A promise whose waiter has left counts as in use until the serving thread looks at it. While
// the serving thread is suspended, waiters get no permit (new calls do, where no call waits), and where
// waiters are evicted the queue may exceed its capacity, by at most MAX_SURPLUS; a release in that time
// comes before the evictions. A newcomer of a higher priority that finds the queue full reads the sizes of
// the lower ones, which may have changed when it is linked: then it is evicted itself, or refused although
// it could have waited.
public final class QueueingBulkhead {

    /** The largest value of either limit. The packed word cannot count more. */
    public static final int LARGEST = 1_000_000;

    /** The most waiters beyond the capacity that may wait for their eviction. */
    static final int MAX_SURPLUS = 64;

    private static final int REVISION_BITS = 23;
    private static final int IN_USE_BITS = 20;
    private static final long REVISION_MASK = (1L << REVISION_BITS) - 1;
    private static final long IN_USE_MASK = (1L << IN_USE_BITS) - 1;
    private static final long ONE_IN_USE = 1L << REVISION_BITS;
    private static final long ONE_QUEUED = 1L << (REVISION_BITS + IN_USE_BITS);

    /** Queued (21 bits), in use (20 bits), revision of the limits (23 bits). */
    private final AtomicLong word = new AtomicLong();

    private final AtomicReference<Limits> limits;

    /** The queue. Confined to the serving thread. */
    private final WaitingCalls waiting = new WaitingCalls();

    /** Requests to serve. The thread that raises it from 0 serves. */
    private final AtomicInteger serving = new AtomicInteger();

    /**
     * Promised permits that no waiter has taken yet. Below 0 while a cancelled promise is not yet counted.
     */
    private final AtomicInteger promises = new AtomicInteger();

    /** Waiters that are counted but not linked yet, the last one first. */
    private final AtomicReference<@Nullable Waiter> arrivals = new AtomicReference<>();

    /** Waiters that have left but are not unlinked yet, the last one first. */
    private final AtomicReference<@Nullable Waiter> leavers = new AtomicReference<>();

    /** Waiters to evict in a queue that refuses newcomers. Confined to the serving thread. */
    private int displaced;

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
        this.limits = new AtomicReference<>(new Limits(maxConcurrentCalls, queueCapacity, overflow, 0));
    }

    /** Takes a permit if one is free. Never waits, and never overtakes the queue. */
    public boolean tryAcquire() {
        while (true) {
            long seen = word.get();
            Limits inForce = limits.get();
            if (isBehind(seen, inForce)) {
                adopt(seen, inForce);
            } else if (inUse(seen) >= inForce.maxConcurrentCalls) {
                return false;
            } else if (word.compareAndSet(seen, seen + ONE_IN_USE)) {
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
            Limits inForce = limits.get();
            if (isBehind(seen, inForce)) {
                adopt(seen, inForce);
            } else if (inUse(seen) >= LARGEST) {
                return false;
            } else if (word.compareAndSet(seen, seen + ONE_IN_USE)) {
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
        waiter.bind(this);
        while (true) {
            long seen = word.get();
            Limits inForce = limits.get();
            if (isBehind(seen, inForce)) {
                adopt(seen, inForce);
            } else if (inUse(seen) < inForce.maxConcurrentCalls) {
                if (word.compareAndSet(seen, seen + ONE_IN_USE)) {
                    return admit(waiter);
                }
            } else if (queued(seen) >= maxQueued(inForce, waiter, queued(seen), more)) {
                return Entry.FULL;
            } else if (word.compareAndSet(seen, seen + ONE_QUEUED)) {
                push(waiter);
                serve();
                return Entry.QUEUED;
            }
        }
    }

    /** An evicting queue may be longer than its capacity until a thread has evicted the surplus. */
    private int maxQueued(Limits inForce, Waiter waiter, int queued, int more) {
        int capacity = inForce.queueCapacity;
        if (inForce.overflow == Overflow.REFUSE_NEWCOMER && queued - capacity < more) {
            waiter.isDisplacing = false;
            return LARGEST;
        }
        boolean evicts = capacity > 0 && (inForce.overflow == Overflow.EVICT_OLDEST || displaces(waiter, capacity));
        return evicts ? Math.min(LARGEST, capacity + MAX_SURPLUS) : capacity;
    }

    /** Whether a newcomer that finds the queue full takes the place of a waiter. */
    private boolean displaces(Waiter waiter, int capacity) {
        waiter.isDisplacing = waiter.tenant() != null || waiting.hasLower(waiter.priority(), capacity);
        return waiter.isDisplacing;
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
            Limits inForce = limits.get();
            int inUse = inUse(seen);
            if (isBehind(seen, inForce)) {
                adopt(seen, inForce);
            } else if (inUse == 0) {
                throw new IllegalStateException("release without a permit in use: " + describe(seen, inForce));
            } else if (queued(seen) > 0 && inUse <= inForce.maxConcurrentCalls) {
                if (word.compareAndSet(seen, seen - ONE_QUEUED)) {
                    deliver(1);
                    return;
                }
            } else if (word.compareAndSet(seen, seen - ONE_IN_USE)) {
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
        resize(maxConcurrentCalls, queueCapacity, limits.get().overflow);
    }

    /**
     * Changes both limits as {@link #resize(int, int)} does, and the treatment of calls that find the queue
     * full. Waiting calls keep their places.
     */
    public void resize(int maxConcurrentCalls, int queueCapacity, Overflow overflow) {
        while (true) {
            Limits inForce = limitsInForce();
            Limits next =
                    new Limits(maxConcurrentCalls, queueCapacity, overflow, (inForce.revision + 1) & REVISION_MASK);
            if (limits.compareAndSet(inForce, next)) {
                limitsInForce();
                serve();
                return;
            }
        }
    }

    private Limits limitsInForce() {
        while (true) {
            long seen = word.get();
            Limits inForce = limits.get();
            if (!isBehind(seen, inForce)) {
                return inForce;
            }
            adopt(seen, inForce);
        }
    }

    private static boolean isBehind(long seen, Limits published) {
        return (seen & REVISION_MASK) != published.revision;
    }

    /** Moves the word to published limits, and promises the permits that they add to waiters. */
    private void adopt(long seen, Limits published) {
        int promised = Math.clamp(published.maxConcurrentCalls - inUse(seen), 0, queued(seen));
        long next = ((seen & ~REVISION_MASK) | published.revision) + promised * (ONE_IN_USE - ONE_QUEUED);
        if (word.compareAndSet(seen, next) && promised > 0) {
            deliver(promised);
        }
    }

    /** Hands promised permits to waiters. */
    private void deliver(int promised) {
        promises.addAndGet(promised);
        serve();
    }

    private void push(Waiter waiter) {
        Waiter last = arrivals.get();
        waiter.older = last;
        while (!arrivals.compareAndSet(last, waiter)) {
            last = arrivals.get();
            waiter.older = last;
        }
    }

    private void pushLeaver(Waiter waiter) {
        Waiter last = leavers.get();
        waiter.leftBefore = last;
        while (!leavers.compareAndSet(last, waiter)) {
            last = leavers.get();
            waiter.leftBefore = last;
        }
    }

    /** Serves the queue, or makes the thread that serves it do so again. */
    private void serve() {
        if (serving.getAndIncrement() != 0) {
            return;
        }
        int requests = 1;
        while (requests != 0) {
            Waiter lastLeaver = leavers.getAndSet(null);
            linkArrivals();
            removeLeavers(lastLeaver);
            grantPromises();
            evictSurplus();
            requests = serving.addAndGet(-requests);
        }
    }

    private void linkArrivals() {
        Waiter last = arrivals.getAndSet(null);
        Waiter first = null;
        while (last != null) {
            Waiter before = last.older;
            last.older = first;
            first = last;
            last = before;
        }
        while (first != null) {
            Waiter next = first.older;
            first.older = null;
            if (first.isWaiting()) {
                waiting.add(first);
                displaced += first.isDisplacing ? 1 : 0;
            } else {
                takeBack();
            }
            first = next;
        }
    }

    private void removeLeavers(@Nullable Waiter lastLeaver) {
        Waiter leaver = lastLeaver;
        while (leaver != null) {
            Waiter before = leaver.leftBefore;
            leaver.leftBefore = null;
            if (waiting.remove(leaver, leaver.hasExpired)) {
                takeBack();
            }
            leaver = before;
        }
    }

    private void grantPromises() {
        while (promises.get() > 0) {
            Waiter next = waiting.pollNext();
            if (next == null) {
                // The waiter of this promise is counted but not pushed yet: its own thread will request to
                // serve.
                return;
            }
            if (next.take()) {
                promises.decrementAndGet();
                next.notifyGranted();
            } else {
                takeBack();
            }
        }
    }

    private void evictSurplus() {
        Limits inForce = limits.get();
        boolean refusesNewcomer = inForce.overflow == Overflow.REFUSE_NEWCOMER;
        int toEvict = refusesNewcomer ? displaced : Integer.MAX_VALUE;
        displaced = 0;
        int capacity = inForce.queueCapacity;
        for (; toEvict > 0 && queued(word.get()) > capacity; toEvict--) {
            Waiter victim = waiting.pollVictim(capacity, refusesNewcomer);
            if (victim == null) {
                // A waiter is counted but not pushed yet: its own thread will request to serve.
                displaced = refusesNewcomer ? toEvict : 0;
                return;
            }
            boolean evicted = victim.evict();
            takeBack();
            if (evicted) {
                victim.notifyEvicted();
            }
        }
    }

    /** Takes back the count of a waiter that has left or was evicted, or else the permit promised to it. */
    private void takeBack() {
        while (true) {
            long seen = word.get();
            if (queued(seen) > 0) {
                if (word.compareAndSet(seen, seen - ONE_QUEUED)) {
                    return;
                }
            } else if (word.compareAndSet(seen, seen - ONE_IN_USE)) {
                promises.decrementAndGet();
                return;
            }
        }
    }

    /**
     * Permits in use, promised ones included. Above the limit only after it was lowered or {@link
     * #acquireAnyway}.
     */
    public int inUse() {
        return inUse(word.get());
    }

    /** Waiters in the queue. */
    public int queued() {
        return queued(word.get());
    }

    /** Waiters of a priority. May be ahead of {@link #queued()}, or behind it, while calls enter or leave. */
    public int queued(Priority priority) {
        return waiting.size(priority);
    }

    /**
     * For tests: the tenants that have a queue of their own or share one. Read while no other thread is
     * active.
     */
    int queuesOfTenants(Priority priority) {
        return waiting.tenants(priority);
    }

    /** The limit on concurrent calls. */
    public int maxConcurrentCalls() {
        return limitsInForce().maxConcurrentCalls;
    }

    /** The limit on waiters. */
    public int queueCapacity() {
        return limitsInForce().queueCapacity;
    }

    @Override
    public String toString() {
        return describe(word.get(), limits.get());
    }

    private static String describe(long seen, Limits limits) {
        return "%d of %d in use, %d of %d queued"
                .formatted(inUse(seen), limits.maxConcurrentCalls, queued(seen), limits.queueCapacity);
    }

    private static int inUse(long word) {
        return (int) ((word >> REVISION_BITS) & IN_USE_MASK);
    }

    private static int queued(long word) {
        return (int) (word >>> (REVISION_BITS + IN_USE_BITS));
    }

    private record Limits(int maxConcurrentCalls, int queueCapacity, Overflow overflow, long revision) {
        Limits {
            requireInRange("max-concurrent-calls", maxConcurrentCalls, 1);
            requireInRange("queue-capacity", queueCapacity, 0);
        }

        private static void requireInRange(String name, int value, int smallest) {
            if (value < smallest || value > LARGEST) {
                throw new IllegalArgumentException(
                        "%s: %d (expected: %d to %d)".formatted(name, value, smallest, LARGEST));
            }
        }
    }

    /** A call that may have to wait. An instance enters one bulkhead, once. Leaving takes constant time. */
    public abstract static class Waiter {

        private static final int WAITING = 0;
        private static final int GRANTED = 1;
        private static final int LEFT = 2;
        private static final int EVICTED = 3;
        private static final AtomicIntegerFieldUpdater<Waiter> STATE =
                AtomicIntegerFieldUpdater.newUpdater(Waiter.class, "state");

        private volatile int state = WAITING;
        private volatile @Nullable QueueingBulkhead bulkhead;

        /** Written by the thread that leaves, before it pushes this waiter. */
        private boolean hasExpired;

        /** Whether a waiter loses its place to this one. Written before this waiter is pushed. */
        private boolean isDisplacing;

        private @Nullable Waiter leftBefore;

        /** The queue that contains this waiter; null: none. Confined to the serving thread. */
        @Nullable
        TenantQueue queue;

        /** Neighbours in that queue. Before, {@code older} links the stack of arrivals. */
        @Nullable
        Waiter older;

        @Nullable
        Waiter newer;

        /**
         * Called when a queued waiter receives a permit, which it must {@link QueueingBulkhead#release()
         * release}.
         *
         * <p>Runs on the thread that serves the queue (one that enters, releases, resizes or leaves),
         * possibly before {@link QueueingBulkhead#enter} has returned. It must neither block nor throw, and
         * switches to its own thread itself. An exception goes to the thread's uncaught-exception handler,
         * not to the thread's caller, and the waiter keeps the permit.
         */
        protected abstract void granted();

        /**
         * Called when a queued waiter has lost its place to another call; it never receives a permit. Runs
         * like {@link #granted()}, and only with {@link Overflow#EVICT_OLDEST}, or if calls have different
         * priorities or tenants.
         */
        protected void evicted() {
            throw new IllegalStateException("evicted (expected: a waiter that handles it)");
        }

        /** The priority of the call; must not change while it waits. */
        protected Priority priority() {
            return Priority.NORMAL;
        }

        /** The tenant with which the call shares its turn; null: none. Must not change while it waits. */
        protected @Nullable String tenant() {
            return null;
        }

        /**
         * Gives up waiting, from any thread, any number of times.
         *
         * @return true if this waiter has no permit and never receives one; false if it has received one, or
         *     is receiving it on another thread: then either the caller or {@link #granted()} must release
         *     it, once
         */
        public final boolean leave() {
            return leave(false);
        }

        /**
         * Gives up waiting because the wait was too long: like {@link #leave()}, and with {@link
         * Overflow#EVICT_OLDEST} the calls that wait beside it are served newest first from now on.
         */
        public final boolean expire() {
            return leave(true);
        }

        /** Whether this waiter has lost its place; {@link #evicted()} may still follow. */
        protected final boolean isEvicted() {
            return state == EVICTED;
        }

        private boolean leave(boolean expired) {
            if (!STATE.compareAndSet(this, WAITING, LEFT)) {
                return state != GRANTED;
            }
            QueueingBulkhead entered = bulkhead;
            if (entered != null) {
                hasExpired = expired && entered.limits.get().overflow == Overflow.EVICT_OLDEST;
                entered.pushLeaver(this);
                entered.serve();
            }
            return true;
        }

        private void bind(QueueingBulkhead entered) {
            if (bulkhead != null) {
                throw new IllegalStateException("a waiter enters once (expected: a new waiter for every call)");
            }
            bulkhead = entered;
        }

        private boolean take() {
            return STATE.compareAndSet(this, WAITING, GRANTED);
        }

        private boolean evict() {
            return STATE.compareAndSet(this, WAITING, EVICTED);
        }

        private boolean isWaiting() {
            return state == WAITING;
        }

        private void notifyGranted() {
            try {
                granted();
            } catch (Throwable defect) {
                report(defect);
            }
        }

        private void notifyEvicted() {
            try {
                evicted();
            } catch (Throwable defect) {
                report(defect);
            }
        }

        private static void report(Throwable defect) {
            Thread thread = Thread.currentThread();
            thread.getUncaughtExceptionHandler().uncaughtException(thread, defect);
        }
    }
}
