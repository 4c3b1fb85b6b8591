package io.weir.limit;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * The calls of one route that its backend leaves unanswered, and their cap: while a route hangs and its
 * backend answers other routes, its calls hold at most half of the backend's limit.
 *
 * <p>A route <i>hangs</i> once several of its calls, all sent after the route's last answer, have waited for
 * the stall duration, and the backend has answered other routes meanwhile. So a route that is only slow, one
 * with a few slow calls among fast ones, and the only route of a backend never hang; a backend that answers
 * nothing is the breaker's matter. The next answer ends the state, and so does a time without another stalled
 * call.
 *
 * <p>Calls that were sent before are counted as they become overdue. From then on the route's calls ask for a
 * place under the cap before they ask for a permit. A call beyond the cap is refused: its place in the queue
 * would only delay the calls of other routes.
 */
// Concurrency: thread-safe, without locks. While a route is answered, a call costs one volatile read at its
// admission and one write at its answer; nothing is counted. `held` is exact: one increment and one decrement
// for each counted call. Benign: a stalled call that is counted at the moment of an answer may remain counted
// until the next answer.
public final class OverdueCalls {

    /** One stalled call shows nothing about its route. */
    private static final int MIN_STALLED = 2;

    private final AtomicInteger stalled = new AtomicInteger();
    private final AtomicInteger held = new AtomicInteger();
    private volatile boolean wasAnswered;
    private volatile long answeredAt;
    private volatile int stalledToHang = MIN_STALLED;
    private volatile long forgottenAt;

    /** The backend has sent the head of an answer to a call of the route. */
    public void answered(long now) {
        answeredAt = now;
        wasAnswered = true;
        if (stalled.get() != 0) {
            stalled.set(0);
        }
    }

    /**
     * A call of the route has waited for the stall duration, or its caller has left after a wait that is long
     * for the route. Called at most once for each call, and only if the backend has answered another call
     * since this one was sent.
     *
     * @param sentAt the moment at which the call was sent
     * @param callsToHang the number of such calls from which the route hangs; at least two are needed
     * @param rememberedNanos the time without another stalled call after which the route counts as answered
     * @return whether the route hangs from now on
     */
    public boolean stalled(long sentAt, int callsToHang, long rememberedNanos, long now) {
        if (wasAnswered && sentAt - answeredAt < 0) {
            return false;
        }
        if (stalled.get() != 0 && now - forgottenAt >= 0) {
            stalled.set(0);
        }
        int needed = Math.max(MIN_STALLED, callsToHang);
        stalledToHang = needed;
        forgottenAt = now + rememberedNanos;
        return stalled.incrementAndGet() == needed;
    }

    /** Whether the route hangs while its backend answers other routes. */
    public boolean isHanging(long now) {
        int calls = stalled.get();
        return calls != 0 && calls >= stalledToHang && now - forgottenAt < 0;
    }

    /** Counts a call that holds a permit and is overdue; {@link #release} must follow once. */
    public void add() {
        held.incrementAndGet();
    }

    /**
     * Counts a call of a route that hangs, if its calls hold less than half of the limit; {@link #release}
     * must follow once.
     *
     * @param limit the backend's limit
     */
    public boolean tryAcquire(int limit) {
        int most = Math.max(1, limit / 2);
        int calls = held.get();
        while (calls < most) {
            if (held.compareAndSet(calls, calls + 1)) {
                return true;
            }
            calls = held.get();
        }
        return false;
    }

    /** A counted call gives its permit back. */
    public void release() {
        held.decrementAndGet();
    }

    /** The counted calls. */
    public int held() {
        return held.get();
    }
}
