package io.weir.limit;

import java.util.ArrayDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * An exact limit on concurrent calls, with a bounded first-in-first-out queue in front. No method blocks: a
 * waiter is a callback, every decision is one compare-and-set, and the methods may be called on event loops.
 *
 * <p>A call that holds a permit gives it back with {@link #release()} exactly once. The bulkhead counts
 * permits and does not know their holders. It notices a surplus release only if no permit is in use;
 * otherwise the surplus release admits one call too many. The caller guards against that.
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
 *                  │ yes              └────► leave()
 *                  ▼
 *                FULL
 * </pre>
 *
 * <p>The limits can be {@linkplain #resize resized} at any time. A lower limit revokes no permit and no place
 * in the queue; it admits no call until enough permits are released.
 *
 * <p>This class stays whole although it has more than 400 lines: one comment proves the protocol between the
 * packed word, the queue and the waiters, and no part of it can be understood apart.
 */
// Concurrency: `word` packs the number of waiters, the permits in use and the revision of the limits. Every
// decision is one CAS on it (FULL is one read), and is linearizable there. `waiters` only brings the waiters
// to the permits that the word has promised them. Invariant after every CAS: waiters exist only while inUse
// >= maxConcurrentCalls.
//
// The word can be ahead of the queue, on both sides; the following terms relate the two. `promised` is the
// number of promised permits, `linked` the number of waiters that the word has counted and that no thread has
// polled yet:
//
//     queued + promised = linked                                                                  (1)
//
//   thread A              thread B             word (limit 1)       effect
//   --------------------- -------------------- -------------------- ------------------------------------
//   enter: queued+1                            in use 1, queued 1   A is counted, but not linked yet
//                         release: queued-1    in use 1, queued 0   the permit is promised
//                         poll: empty          in use 1, queued 0   B adds it to `owed`, checks again
//   link, take from owed                       in use 1, queued 0   A grants itself the permit
//
//   Either B's second check sees A's waiter, or A sees the permit that B owes: each thread writes its own
//   side before it reads the other's. So a promised permit is held by a thread, or no waiter is linked to
//   take it.
//
//   thread A              thread B             word (limit 1)       effect
//   --------------------- -------------------- -------------------- ------------------------------------
//                         release: queued-1    in use 1, queued 0   promised to A's waiter
//   leave: unlinked                            in use 1, queued -1  A takes its count back: a surplus promise
//                         poll: empty          in use 0, queued 0   B sees queued < 0 and cancels its promise
//
//   A polled waiter that has left did not take its count back (its leave() found it no longer in the
//   queue), so the promise that polled it is given back like a release. A permit reaches a waiter by the
//   CAS WAITING -> GRANTED, which competes with leave()'s WAITING -> LEFT: exactly one of them succeeds.
//
// While no call is under way, every promise is kept or cancelled: if a permit is owed and a waiter could take
// it, or queued < 0, then the last thread that wrote one of the two takes it. Hence by (1) `queued` is the
// length of the queue, and every waiter waits for a permit that is really in use.
//
// The limits are beside the word, which contains their revision. A resize publishes the new limits, then
// moves the word to their revision and, in the same CAS, promises the new permits to waiters. Any other
// thread that finds the two apart does that for it, so no thread waits for a suspended resize. The revision
// has 23 bits: a CAS that is delayed by exactly 2^23 resizes could mistake old limits for new ones.
//
// Benign: two permits promised at once reach their waiters in order, but their granted() may run in any
// order. Two calls that enter at once are queued in the order in which they are linked, not in which they are
// counted. A promise whose waiter has left counts as in use until the thread that holds the promise
// continues.
public final class QueueingBulkhead {

    /** The largest value of either limit. The packed word cannot count more. */
    public static final int LARGEST = 1_000_000;

    private static final int REVISION_BITS = 23;
    private static final int IN_USE_BITS = 20;
    private static final long REVISION_MASK = (1L << REVISION_BITS) - 1;
    private static final long IN_USE_MASK = (1L << IN_USE_BITS) - 1;
    private static final long ONE_IN_USE = 1L << REVISION_BITS;
    private static final long ONE_QUEUED = 1L << (REVISION_BITS + IN_USE_BITS);

    /** Queued (21 bits, signed), in use (20 bits), revision of the limits (23 bits). */
    private final AtomicLong word = new AtomicLong();

    private final AtomicReference<Limits> limits;
    private final ConcurrentLinkedQueue<Waiter> waiters = new ConcurrentLinkedQueue<>();

    /** Promised permits that found no linked waiter. A thread that links a waiter, or leaves, takes them. */
    private final AtomicInteger owed = new AtomicInteger();

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
     * A bulkhead with all permits free.
     *
     * @param maxConcurrentCalls the limit on concurrent calls; 1 to {@value #LARGEST}
     * @param queueCapacity the limit on waiters; 0 (no queue) to {@value #LARGEST}
     */
    public QueueingBulkhead(int maxConcurrentCalls, int queueCapacity) {
        limits = new AtomicReference<>(new Limits(maxConcurrentCalls, queueCapacity, 0));
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
     * Takes a permit even if none is free, and overtakes the queue, as if the limit were higher. For counting
     * calls without refusing any. Waiters wait until enough permits are released.
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
            } else if (queuedOrNone(seen) >= inForce.queueCapacity) {
                return Entry.FULL;
            } else if (word.compareAndSet(seen, seen + ONE_QUEUED)) {
                return enqueue(waiter);
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

    private Entry enqueue(Waiter waiter) {
        waiters.add(waiter);
        if (waiter.hasLeft()) {
            unlink(waiter);
        }
        settleOwed();
        return Entry.QUEUED;
    }

    /**
     * Gives a permit back; exactly once for each permit. If calls wait, the first of them receives it: its
     * {@link Waiter#granted()} runs on this thread before this method returns. If this method is called
     * within another {@code granted()}, it runs after that one has returned.
     *
     * @throws IllegalStateException if no permit is in use
     */
    public void release() {
        if (releaseOrPromise()) {
            deliver();
        }
    }

    /** Gives a permit back. Returns whether it is now promised to a waiter. */
    private boolean releaseOrPromise() {
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
                    return true;
                }
            } else if (word.compareAndSet(seen, seen - ONE_IN_USE)) {
                return false;
            }
        }
    }

    /**
     * Changes both limits at once, while calls are in flight. A higher limit admits waiters, on this thread.
     * A lower limit revokes no permit, and a smaller queue evicts no waiter.
     *
     * @param maxConcurrentCalls the limit on concurrent calls; 1 to {@value #LARGEST}
     * @param queueCapacity the limit on waiters; 0 to {@value #LARGEST}
     */
    public void resize(int maxConcurrentCalls, int queueCapacity) {
        while (true) {
            Limits inForce = limitsInForce();
            Limits next = new Limits(maxConcurrentCalls, queueCapacity, (inForce.revision + 1) & REVISION_MASK);
            if (limits.compareAndSet(inForce, next)) {
                limitsInForce();
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
        int promises = Math.clamp(published.maxConcurrentCalls - inUse(seen), 0, queuedOrNone(seen));
        long next = ((seen & ~REVISION_MASK) | published.revision) + promises * (ONE_IN_USE - ONE_QUEUED);
        if (word.compareAndSet(seen, next)) {
            for (int i = 0; i < promises; i++) {
                deliver();
            }
        }
    }

    /** Delivers a promised permit to a waiter: at once, or after the delivery that runs on this thread. */
    private void deliver() {
        Deliveries.OF_THREAD.get().add(this);
    }

    /** Finds the waiter of a promised permit. Loops only over waiters that have left. */
    private void deliverNow() {
        while (true) {
            Waiter next = waiters.poll();
            if (next != null) {
                if (next.take()) {
                    next.notifyGranted();
                    return;
                }
                if (!releaseOrPromise()) {
                    return;
                }
            } else if (cancelPromise() || !oweAndRecheck()) {
                return;
            }
        }
    }

    private boolean oweAndRecheck() {
        owed.incrementAndGet();
        return canSettleOwed() && takeOwed();
    }

    /** Delivers or cancels the owed permits, after a waiter was linked or has left. */
    private void settleOwed() {
        while (canSettleOwed() && takeOwed()) {
            deliver();
        }
    }

    private boolean canSettleOwed() {
        return !waiters.isEmpty() || queued(word.get()) < 0;
    }

    private boolean takeOwed() {
        return owed.getAndUpdate(count -> Math.max(0, count - 1)) > 0;
    }

    /** Frees a promised permit if there is a surplus promise, because a waiter took its count back. */
    private boolean cancelPromise() {
        while (true) {
            long seen = word.get();
            if (queued(seen) >= 0) {
                return false;
            }
            if (word.compareAndSet(seen, seen + ONE_QUEUED - ONE_IN_USE)) {
                return true;
            }
        }
    }

    private void unlink(Waiter waiter) {
        if (waiters.remove(waiter)) {
            word.addAndGet(-ONE_QUEUED);
            settleOwed();
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
        return queuedOrNone(word.get());
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
                .formatted(inUse(seen), limits.maxConcurrentCalls, queuedOrNone(seen), limits.queueCapacity);
    }

    private static int inUse(long word) {
        return (int) ((word >> REVISION_BITS) & IN_USE_MASK);
    }

    /** Below zero while surplus promises must be cancelled. */
    private static int queued(long word) {
        return (int) (word >> (REVISION_BITS + IN_USE_BITS));
    }

    private static int queuedOrNone(long word) {
        return Math.max(0, queued(word));
    }

    private record Limits(int maxConcurrentCalls, int queueCapacity, long revision) {
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

    /**
     * A call that may have to wait. An instance enters one bulkhead, once.
     *
     * <p>Leaving takes time linear in the length of the queue, at worst: it unlinks the waiter, so that the
     * waiter leaves no garbage behind and takes no place.
     */
    public abstract static class Waiter {

        private static final int WAITING = 0;
        private static final int GRANTED = 1;
        private static final int LEFT = 2;
        private static final AtomicIntegerFieldUpdater<Waiter> STATE =
                AtomicIntegerFieldUpdater.newUpdater(Waiter.class, "state");

        private volatile int state = WAITING;
        private volatile @Nullable QueueingBulkhead bulkhead;

        /**
         * Called when a queued waiter receives a permit, which it must {@link QueueingBulkhead#release()
         * release}.
         *
         * <p>Runs on the thread that freed the permit (one that releases, resizes or leaves, or completes
         * another thread's resize), possibly before {@link QueueingBulkhead#enter} has returned. It must
         * neither block nor throw, and switches to its own thread itself. An exception goes to the thread's
         * uncaught-exception handler, not to the thread's caller, and the waiter keeps the permit.
         */
        protected abstract void granted();

        /**
         * Gives up waiting, from any thread, any number of times.
         *
         * @return true if this waiter has no permit and never receives one; false if it has received one, or
         *     is receiving it on another thread: then either the caller or {@link #granted()} must release
         *     it, once
         */
        public final boolean leave() {
            if (!STATE.compareAndSet(this, WAITING, LEFT)) {
                return hasLeft();
            }
            QueueingBulkhead entered = bulkhead;
            if (entered != null) {
                entered.unlink(this);
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

        private boolean hasLeft() {
            return state == LEFT;
        }

        private void notifyGranted() {
            try {
                granted();
            } catch (Throwable defect) {
                Thread thread = Thread.currentThread();
                thread.getUncaughtExceptionHandler().uncaughtException(thread, defect);
            }
        }
    }

    /**
     * The deliveries of one thread, run one after the other. A waiter that releases its permit in {@code
     * granted()} causes another delivery; running it later keeps the stack flat.
     */
    private static final class Deliveries {

        private static final ThreadLocal<Deliveries> OF_THREAD = ThreadLocal.withInitial(Deliveries::new);

        /** Bounded by the number of promised permits. */
        private final ArrayDeque<QueueingBulkhead> pending = new ArrayDeque<>();

        private boolean running;

        void add(QueueingBulkhead bulkhead) {
            pending.add(bulkhead);
            if (!running) {
                running = true;
                try {
                    run();
                } finally {
                    running = false;
                }
            }
        }

        private void run() {
            QueueingBulkhead next = pending.poll();
            while (next != null) {
                next.deliverNow();
                next = pending.poll();
            }
        }
    }
}
