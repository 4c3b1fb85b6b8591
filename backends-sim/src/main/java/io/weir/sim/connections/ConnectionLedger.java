package io.weir.sim.connections;

import java.util.HashMap;
import java.util.Map;

/**
 * Records which request holds connections and which request waits for one, and so detects a deadlock when it
 * begins, not only when the first request times out.
 *
 * <p>A deadlock exists if every connection is held by a request that waits for another connection: no request
 * can return one. Requests that wait without holding a connection suffer from the deadlock but are not part
 * of it.
 *
 * <p>Concurrency: one monitor. The check reads at most as many states as requests use the pool.
 */
final class ConnectionLedger {

    private static final class RequestState {
        private int held;
        private boolean isWaiting;
        private boolean isInDeadlock;
    }

    private final int poolSize;
    private final Map<Object, RequestState> states = new HashMap<>();
    private int held;
    private long deadlocks;
    private boolean isDeadlocked;

    ConnectionLedger(int poolSize) {
        this.poolSize = poolSize;
    }

    /** {@code request} begins to wait for a connection. Returns whether this closes a deadlock. */
    synchronized boolean beginWait(Object request) {
        states.computeIfAbsent(request, _ -> new RequestState()).isWaiting = true;
        return detectDeadlock();
    }

    /** {@code request} has acquired a connection. */
    synchronized void acquired(Object request) {
        RequestState state = states.computeIfAbsent(request, _ -> new RequestState());
        state.isWaiting = false;
        state.held++;
        held++;
    }

    /** {@code request} timed out while waiting. Returns whether it was part of a deadlock. */
    synchronized boolean timedOut(Object request) {
        RequestState state = states.computeIfAbsent(request, _ -> new RequestState());
        boolean wasInDeadlock = state.isInDeadlock;
        state.isWaiting = false;
        state.isInDeadlock = false;
        removeIfIdle(request, state);
        isDeadlocked = false;
        return wasInDeadlock;
    }

    /** {@code request} has returned a connection. */
    synchronized void released(Object request) {
        RequestState state = states.get(request);
        if (state == null || state.held == 0) {
            throw new IllegalStateException(request + ": holds no connection (expected: at least one)");
        }
        state.held--;
        held--;
        isDeadlocked = false;
        removeIfIdle(request, state);
    }

    /** Deadlocks detected since the start. */
    synchronized long deadlockCount() {
        return deadlocks;
    }

    /** Whether a deadlock exists now. */
    synchronized boolean isDeadlocked() {
        return isDeadlocked;
    }

    private boolean detectDeadlock() {
        if (isDeadlocked || held < poolSize) {
            return false;
        }
        for (RequestState state : states.values()) {
            if (state.held > 0 && !state.isWaiting) {
                return false;
            }
        }
        isDeadlocked = true;
        deadlocks++;
        for (RequestState state : states.values()) {
            state.isInDeadlock = state.held > 0;
        }
        return true;
    }

    private void removeIfIdle(Object request, RequestState state) {
        if (state.held == 0 && !state.isWaiting) {
            states.remove(request);
        }
    }
}
