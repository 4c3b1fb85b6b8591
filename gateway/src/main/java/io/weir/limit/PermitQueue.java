package io.weir.limit;

import static io.weir.limit.PermitWord.LIMIT_MASK;
import static io.weir.limit.PermitWord.ONE_IN_USE;
import static io.weir.limit.PermitWord.ONE_QUEUED;
import static io.weir.limit.PermitWord.inUse;
import static io.weir.limit.PermitWord.limit;
import static io.weir.limit.PermitWord.queued;
import static io.weir.limit.QueueingBulkhead.LARGEST;

import io.weir.limit.QueueingBulkhead.Entry;
import io.weir.limit.QueueingBulkhead.Overflow;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The queue of a {@link QueueingBulkhead}: it counts waiters in the bulkhead's word, hands permits on to
 * them, and evicts them.
 */
// Concurrency: the monitor of `waiting` guards the queue, and the number of waiters in the word changes only
// under it. Under the monitor, the queue contains the waiters that the word counts and those of promised
// permits:
//
//     size of the queue = queued + promises                                                       (1)
//
// A waiter that leaves removes itself under the monitor, unless it was taken out of the queue before. A
// waiter that is taken out without a grant, in either way, is taken back: a waiter less if queued > 0, else
// by (1) a promise is surplus, so a permit in use less.
//
// No callback runs under the monitor. One thread at a time runs them, the one that sets `isServing`; the
// others leave their promises and evicted waiters to it, and go on. So a callback that releases its permit
// does not nest the next callback.
//
// Benign: a waiter that has left counts as queued until its thread gets the monitor. While the serving thread
// is suspended, waiters get no permit (new calls do, where no call waits). While a thread is suspended under
// the monitor, calls that wait, and releases to them, wait for it.
final class PermitQueue implements Waiter.Entered {

    private final AtomicLong word;

    /** The queue, and the monitor that guards it. */
    private final WaitingCalls waiting = new WaitingCalls();

    /** Written under the monitor. */
    private volatile int capacity;

    /** Written under the monitor. */
    private volatile Overflow overflow;

    /** Promised permits that no waiter has taken yet. Guarded by the monitor. */
    private int promises;

    /** Evicted waiters that are not called back yet. Guarded by the monitor. */
    private final Queue<Waiter> evicted = new ArrayDeque<>(1);

    /** Whether a thread runs the callbacks. Guarded by the monitor. */
    private boolean isServing;

    PermitQueue(AtomicLong word, int capacity, Overflow overflow) {
        this.word = word;
        this.capacity = capacity;
        this.overflow = overflow;
    }

    int capacity() {
        return capacity;
    }

    Overflow overflow() {
        return overflow;
    }

    /** The waiters of a priority. From any thread. */
    int size(Priority priority) {
        return waiting.size(priority);
    }

    int tenants(Priority priority) {
        return waiting.tenants(priority);
    }

    /** Takes a place in the queue; null if a permit has become free. */
    @Nullable
    Entry enqueue(Waiter waiter, int more) {
        synchronized (waiting) {
            boolean isFull;
            long seen;
            do {
                seen = word.get();
                if (inUse(seen) < limit(seen)) {
                    return null;
                }
                isFull = queued(seen) >= places(more);
                if (isFull && !takesPlaceOfAnother(waiter)) {
                    return Entry.FULL;
                }
                if (!waiter.isWaiting()) {
                    return Entry.QUEUED;
                }
            } while (!word.compareAndSet(seen, seen + ONE_QUEUED));
            waiting.add(waiter);
            if (!isFull) {
                return Entry.QUEUED;
            }
            evictOne();
        }
        serve();
        return Entry.QUEUED;
    }

    private int places(int more) {
        return overflow == Overflow.REFUSE_NEWCOMER ? (int) Math.min(LARGEST, (long) capacity + more) : capacity;
    }

    /** Whether a newcomer that finds the queue full takes the place of a waiter. */
    private boolean takesPlaceOfAnother(Waiter waiter) {
        return capacity > 0
                && (overflow == Overflow.EVICT_OLDEST || waiter.tenant() != null || waiting.hasLower(waiter, capacity));
    }

    /** Promises a permit in use to a waiter; false if none waits, or the permit exceeds the limit. */
    boolean handOn() {
        synchronized (waiting) {
            long seen;
            do {
                seen = word.get();
                if (queued(seen) == 0 || inUse(seen) > limit(seen)) {
                    return false;
                }
            } while (!word.compareAndSet(seen, seen - ONE_QUEUED));
            promises++;
        }
        serve();
        return true;
    }

    /** Changes the limits and the overflow, and promises the permits that they add to waiters. */
    void resize(int maxConcurrentCalls, int newCapacity, Overflow newOverflow) {
        synchronized (waiting) {
            capacity = newCapacity;
            overflow = newOverflow;
            long seen;
            int promised;
            do {
                seen = word.get();
                promised = Math.clamp(maxConcurrentCalls - inUse(seen), 0, queued(seen));
            } while (!word.compareAndSet(
                    seen, (seen & ~LIMIT_MASK) + maxConcurrentCalls + promised * (ONE_IN_USE - ONE_QUEUED)));
            promises += promised;
        }
        serve();
    }

    @Override
    public void leave(Waiter waiter, boolean expired) {
        synchronized (waiting) {
            if (waiting.remove(waiter, expired && overflow == Overflow.EVICT_OLDEST)) {
                takeBack();
            }
        }
    }

    /** Under the monitor, with more waiters than promises. */
    private void evictOne() {
        Waiter victim = waiting.pollVictim(capacity, overflow == Overflow.REFUSE_NEWCOMER);
        takeBack();
        if (victim != null && victim.evict()) {
            evicted.add(victim);
        }
    }

    /** Under the monitor: takes back the count of a waiter, or else the permit promised to it. */
    private void takeBack() {
        if (queued(word.get()) > 0) {
            word.addAndGet(-ONE_QUEUED);
        } else {
            word.addAndGet(-ONE_IN_USE);
            promises--;
        }
    }

    /** Runs callbacks until none is due, unless another thread does so. */
    private void serve() {
        for (Waiter next = next(false); next != null; next = next(true)) {
            next.callBack();
        }
    }

    /** Takes the waiter to call back next; null if there is none, or if another thread serves. */
    private @Nullable Waiter next(boolean serves) {
        synchronized (waiting) {
            if (isServing && !serves) {
                return null;
            }
            Waiter granted = takePromise();
            Waiter next = granted == null ? nextEvicted() : granted;
            isServing = next != null;
            return next;
        }
    }

    /** Under the monitor: a smaller queue evicts only what the permits of the same resize leave waiting. */
    private @Nullable Waiter nextEvicted() {
        while (evicted.isEmpty() && hasSurplus()) {
            evictOne();
        }
        return evicted.poll();
    }

    private boolean hasSurplus() {
        return overflow == Overflow.EVICT_OLDEST && queued(word.get()) > capacity;
    }

    /** Under the monitor: grants a promised permit; null if none is promised. */
    private @Nullable Waiter takePromise() {
        while (promises > 0) {
            Waiter next = waiting.pollNext();
            if (next != null && next.take()) {
                promises--;
                return next;
            }
            takeBack();
        }
        return null;
    }
}
