package io.weir.limit;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;

/** A call that may have to wait. An instance enters one bulkhead, once. Leaving takes constant time. */
public abstract class Waiter {

    /** What a waiter enters, and tells that it has left. */
    interface Entered {

        /** Removes a waiter that has left. */
        void leave(Waiter waiter, boolean expired);
    }

    private static final int WAITING = 0;
    private static final int GRANTED = 1;
    private static final int LEFT = 2;
    private static final int EVICTED = 3;
    private static final AtomicIntegerFieldUpdater<Waiter> STATE =
            AtomicIntegerFieldUpdater.newUpdater(Waiter.class, "state");

    private volatile int state = WAITING;
    private volatile @Nullable Entered entered;

    /** The queue that contains this waiter; null: none. Guarded by the monitor of {@link PermitQueue}. */
    @Nullable
    TenantQueue queue;

    /** Neighbours in that queue. */
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
     * like {@link #granted()}, and only with {@link QueueingBulkhead.Overflow#EVICT_OLDEST}, or if calls
     * have different priorities or tenants.
     */
    protected void evicted() {
        throw new IllegalStateException("evicted (expected: a waiter that handles it)");
    }

    /** The priority of the call; must not change while it waits. */
    protected Priority priority() {
        return Priority.NORMAL;
    }

    /**
     * Whether the call goes before all others, whatever their priority: it is in a guaranteed share. Must not
     * change while it waits.
     */
    protected boolean isGuaranteed() {
        return false;
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
        Entered left = entered;
        if (left != null) {
            left.leave(this, expired);
        }
        return true;
    }

    void bind(Entered bulkhead) {
        if (entered != null) {
            throw new IllegalStateException("a waiter enters once (expected: a new waiter for every call)");
        }
        entered = bulkhead;
    }

    boolean take() {
        return STATE.compareAndSet(this, WAITING, GRANTED);
    }

    boolean evict() {
        return STATE.compareAndSet(this, WAITING, EVICTED);
    }

    boolean isWaiting() {
        return state == WAITING;
    }

    /** Calls {@link #granted()} or {@link #evicted()}. */
    void callBack() {
        try {
            if (state == GRANTED) {
                granted();
            } else {
                evicted();
            }
        } catch (Throwable defect) {
            Thread thread = Thread.currentThread();
            thread.getUncaughtExceptionHandler().uncaughtException(thread, defect);
        }
    }
}
