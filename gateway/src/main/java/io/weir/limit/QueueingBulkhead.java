package io.weir.limit;

import java.util.ArrayDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * An exact cap on concurrent calls with a bounded first-in-first-out queue in front. Nothing here blocks: a waiter is
 * a callback, every decision is one compare-and-set, and the methods may be called on event loops.
 *
 * <p>A call that holds a permit gives it back with {@link #release()} exactly once. The bulkhead counts permits and
 * does not know their holders: a release too many is only noticed when no permit is out at all, and lets one call too
 * many in otherwise. Whoever holds the permit owns that guard.
 *
 * <p>A released permit never becomes free while somebody waits: it changes hands in the same compare-and-set, so that
 * no newcomer can overtake the queue. From then until it reaches its waiter it is <i>on its way</i> and counts as in
 * use. A waiter may still {@linkplain Waiter#leave() leave} at that moment; the permit then goes on to the next one.
 *
 * <pre>
 *   enter ──► room? ──► GRANTED ─────────────────────────────► release
 *               │ no                                             │
 *               ▼                      permit changes hands      ▼
 *            place? ──► QUEUED ──► granted() ◄────────────── somebody waits? ──► no: one permit more
 *               │ no       └─────► leave()
 *               ▼
 *             FULL
 * </pre>
 *
 * <p>The limits can be {@linkplain #resize resized} at any time. Permits and places already given are respected: a
 * lower limit revokes nothing, it lets nobody in until enough permits are back.
 */
// Concurrency: `word` packs how many wait, how many permits are out and the revision of the limits. Every decision is
// one CAS on it (FULL is one read), and is linearizable there. `waiters` only carries the waiters to the permits that
// the word has promised them. What holds after every CAS: somebody waits only while inUse >= maxConcurrentCalls.
//
// The word is ahead of the queue, on both sides; this is the bookkeeping that brings them together. `promised` are the
// permits on their way, `standing` the waiters that the word counted and nobody took out of the queue yet:
//
//     queued + promised = standing                                                                              (1)
//
//   thread A              thread B             word (limit 1)       what happens
//   --------------------- -------------------- -------------------- --------------------------------------------
//   enter: queued+1                            in use 1, queued 1   A is counted, and not yet linked
//                         release: queued-1    in use 1, queued 0   the permit is promised
//                         poll: nobody         in use 1, queued 0   B leaves it in `owed`, looks again, goes on
//   link, take from owed                       in use 1, queued 0   A serves itself: granted
//
//   Either B's second look sees A's waiter, or A sees what B owes: each writes its own side before it reads the
//   other's. So a promised permit is in some thread's hands, or nobody is linked to take it.
//
//   thread A              thread B             word (limit 1)       what happens
//   --------------------- -------------------- -------------------- --------------------------------------------
//                         release: queued-1    in use 1, queued 0   promised to A's waiter
//   leave: unlinked                            in use 1, queued -1  A takes its count back: a promise too many
//                         poll: nobody         in use 0, queued 0   B finds queued < 0 and cancels its promise
//
//   A polled waiter that has left took no count back (its leave() found it gone from the queue), so the promise that
//   polled it is given back like a release. A permit reaches a waiter by the CAS WAITING -> GRANTED, which competes
//   with leave()'s WAITING -> LEFT: one of them wins.
//
// With no call under way every promise is kept or cancelled: an owed permit with somebody to take it, or with
// queued < 0, is taken by the last thread that wrote one of the two. Hence by (1) `queued` is the length of the queue,
// and whoever waits, waits for a permit that is really out.
//
// The limits stand beside the word, which holds their revision. A resize publishes the new limits, then moves the word
// to their revision and, in the same CAS, promises the new room to those who wait. Any other thread that meets the two
// apart does that for it, so nobody waits for a resizer that was suspended. The revision has 23 bits: a CAS that is
// delayed by exactly 2^23 resizes could mistake old limits for new ones.
//
// Benign: two permits handed over at once reach their waiters in order, but their granted() may run in any order. Two
// calls that enter at once stand in the order in which they are linked, not in which they were counted. A promise whose
// waiter has left counts as in use until the thread that holds it goes on.
public final class QueueingBulkhead {

    /** The largest number of calls at once, and of waiting ones: what fits into the word. */
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

    /** Promised permits that found nobody linked, to be taken by whoever is linking or leaving. */
    private final AtomicInteger owed = new AtomicInteger();

    /** What a call that asked for a permit got. */
    public enum Entry {
        /** It holds a permit. */
        GRANTED,
        /** It stands in the queue: {@link Waiter#granted()} follows, or has already been called, unless it leaves. */
        QUEUED,
        /** No permit and no place in the queue: nothing follows. */
        FULL
    }

    /**
     * A bulkhead with all permits free.
     *
     * @param maxConcurrentCalls calls at once, 1 to {@value #LARGEST}
     * @param queueCapacity waiters at once, 0 (refuse at once) to {@value #LARGEST}
     */
    public QueueingBulkhead(int maxConcurrentCalls, int queueCapacity) {
        limits = new AtomicReference<>(new Limits(maxConcurrentCalls, queueCapacity, 0));
    }

    /** Takes a permit if one is free, without waiting and without overtaking those who wait. */
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
     * Takes a permit even if none is free, and past those who wait, as if the limit were higher: for who counts calls without refusing
     * any. Those who wait go on waiting until enough permits are back.
     *
     * @return false only if {@value #LARGEST} permits are out
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
     * Takes a permit, or else a place in the queue.
     *
     * @param waiter a new one for every call. If it {@linkplain Waiter#leave() leaves} before this returns, it holds
     *     no permit, and the answer is {@link Entry#QUEUED} or {@link Entry#FULL}
     * @throws IllegalStateException if the waiter has entered before
     */
    public Entry enter(Waiter waiter) {
        waiter.comeTo(this);
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
                return lineUp(waiter);
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

    private Entry lineUp(Waiter waiter) {
        waiters.add(waiter);
        if (waiter.hasLeft()) {
            unlink(waiter);
        }
        serveOwed();
        return Entry.QUEUED;
    }

    /**
     * Gives a permit back, exactly once for each. If somebody waits, it goes to the first in the queue, whose {@link
     * Waiter#granted()} runs on this thread, before this returns or, if this is called by a {@code granted()} itself,
     * after that one has returned.
     *
     * @throws IllegalStateException if no permit is out
     */
    public void release() {
        if (passOn()) {
            deliver();
        }
    }

    /** Gives a permit back and says whether it was promised to a waiter by that. */
    private boolean passOn() {
        while (true) {
            long seen = word.get();
            Limits inForce = limits.get();
            int inUse = inUse(seen);
            if (isBehind(seen, inForce)) {
                adopt(seen, inForce);
            } else if (inUse == 0) {
                throw new IllegalStateException("release without a permit out: " + describe(seen, inForce));
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
     * Changes both limits at once, while calls are in flight. More permits let waiters in, on this thread; fewer
     * revoke nothing. A smaller queue sends nobody away.
     *
     * @param maxConcurrentCalls calls at once, 1 to {@value #LARGEST}
     * @param queueCapacity waiters at once, 0 to {@value #LARGEST}
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

    /** Brings published limits into force, and promises the room that they make to those who wait. */
    private void adopt(long seen, Limits published) {
        int promises = Math.clamp(published.maxConcurrentCalls - inUse(seen), 0, queuedOrNone(seen));
        long next = ((seen & ~REVISION_MASK) | published.revision) + promises * (ONE_IN_USE - ONE_QUEUED);
        if (word.compareAndSet(seen, next)) {
            for (int i = 0; i < promises; i++) {
                deliver();
            }
        }
    }

    /** Brings a promised permit to a waiter, at once or, inside another delivery on this thread, after that one. */
    private void deliver() {
        Deliveries.OF_THREAD.get().add(this);
    }

    /** Finds the waiter of a promised permit; loops only over those that have left or that others were faster for. */
    private void deliverNow() {
        while (true) {
            Waiter next = waiters.poll();
            if (next != null) {
                if (next.take()) {
                    next.notifyGranted();
                    return;
                }
                if (!passOn()) {
                    return;
                }
            } else if (cancelPromise() || !takeBackAfterOwing()) {
                return;
            }
        }
    }

    private boolean takeBackAfterOwing() {
        owed.incrementAndGet();
        return isOwedToSomebody() && takeOwed();
    }

    /** Keeps or cancels the promises that nobody has in hand, now that a waiter was linked or has left. */
    private void serveOwed() {
        while (isOwedToSomebody() && takeOwed()) {
            deliver();
        }
    }

    private boolean isOwedToSomebody() {
        return !waiters.isEmpty() || queued(word.get()) < 0;
    }

    private boolean takeOwed() {
        return owed.getAndUpdate(count -> Math.max(0, count - 1)) > 0;
    }

    /** Frees a promised permit if one promise too many is out, because a waiter took its count back. */
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
            serveOwed();
        }
    }

    /** Permits out, those on their way to a waiter included. Above the limit only after the limit was lowered. */
    public int inUse() {
        return inUse(word.get());
    }

    /** Waiters in the queue. */
    public int queued() {
        return queuedOrNone(word.get());
    }

    /** The limit on calls at once. */
    public int maxConcurrentCalls() {
        return limitsInForce().maxConcurrentCalls;
    }

    /** The limit on waiters at once. */
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

    /** Below zero while promises are to be cancelled. */
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
     * A call that may have to wait. One instance enters one bulkhead once.
     *
     * <p>Leaving takes time linear in the length of the queue, at worst: it unlinks the waiter, so that no garbage
     * and no taken place stays behind.
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
         * The waiter was in the queue and holds a permit now, which it must {@link QueueingBulkhead#release()
         * release}. Runs on the thread that made the room (one that releases, resizes or leaves, or meets a resize
         * half done), possibly before {@link QueueingBulkhead#enter} has returned. It must neither block nor throw,
         * and hops to its own thread itself. What it throws goes to the thread's uncaught-exception handler, not to
         * the call that made the room, and the permit stays with the waiter.
         */
        protected abstract void granted();

        /**
         * Gives up waiting, from any thread, any number of times.
         *
         * @return true if this waiter has no permit and never gets one; false if it was granted one, or is being
         *     granted it on another thread: then the permit has to be released, once, here or by {@link #granted()}
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

        private void comeTo(QueueingBulkhead entered) {
            if (bulkhead != null) {
                throw new IllegalStateException("a waiter enters once (expected: a new one for every call)");
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
     * The deliveries of one thread, one after the other: a waiter that releases its permit in {@code granted()}, and
     * so makes the next one do the same, does not deepen the stack.
     */
    private static final class Deliveries {

        private static final ThreadLocal<Deliveries> OF_THREAD = ThreadLocal.withInitial(Deliveries::new);

        /** Bounded by the promised permits of the bulkheads in it. */
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
