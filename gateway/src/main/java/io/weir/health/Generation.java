package io.weir.health;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * The calls that were sent to a backend between two openings of its breaker, and their evidence of a stall.
 * Results of calls of an earlier generation say nothing about the backend any more.
 *
 * <p>The generation also decides which side gives a permit back. Until the breaker opens, each call gives its
 * own permit back, after {@link #leave}. When the breaker opens, {@link #close} takes over the permits of all
 * calls that are still in the backend: a call that hangs must not hold a permit that a recovered backend
 * needs.
 */
// Concurrency: `inFlight` is the only atomic that decides. A call that leaves and the closing thread both
// change it once: either the call is counted by close() and leave() returns false, or leave() came first and
// close() does not count the call. So each permit is given back exactly once. `lastAnswerAt` and the counts
// of stalled calls are written one after the other. Benign: a call that stalls at the moment of an answer may
// remain counted by mistake until the next answer, which follows soon from a backend that answers.
public final class Generation {

    /**
     * The count of a closed generation: so low that no number of later enter() and leave() raises it to 0.
     */
    private static final int CLOSED = Integer.MIN_VALUE / 2;
    /** Of the difference to a faster answer, this part is forgotten: one in 8. */
    private static final int FORGOTTEN_ONE_IN = 8;

    private final AtomicInteger inFlight = new AtomicInteger();
    /** Stalled calls that were sent after the last answer. */
    private final AtomicInteger stalled = new AtomicInteger();
    /** Stalled calls that were sent before the last answer. */
    private final AtomicInteger stalledBefore = new AtomicInteger();

    private volatile long lastAnswerAt;
    private volatile long lastSentOfAnswered;
    private volatile long stalledSince;
    private volatile long recoveryNanos;

    Generation(long now) {
        this(now, 0);
    }

    /**
     * A generation without calls.
     *
     * @param recoveryNanos the time after which the answer came that ended the opening before; 0: none did
     */
    Generation(long now, long recoveryNanos) {
        this.lastAnswerAt = now;
        this.lastSentOfAnswered = now;
        this.recoveryNanos = recoveryNanos;
    }

    /** Counts a call that holds a permit; {@link #leave} must follow once. False: the breaker has opened. */
    boolean enter() {
        if (inFlight.incrementAndGet() > 0) {
            return true;
        }
        inFlight.decrementAndGet();
        return false;
    }

    /**
     * Like {@link #enter}, unless as many calls have entered already. False: full, or the breaker has opened.
     */
    boolean enterBelow(int most) {
        int seen = inFlight.get();
        while (seen >= 0 && seen < most) {
            if (inFlight.compareAndSet(seen, seen + 1)) {
                return true;
            }
            seen = inFlight.get();
        }
        return false;
    }

    /** Whether the breaker has opened. */
    boolean isClosed() {
        return inFlight.get() < 0;
    }

    /**
     * A call that {@linkplain Health#enter entered} with a permit has ended; exactly once for each.
     *
     * @return whether the caller must give the permit back; false: that was done when the breaker opened
     */
    public boolean leave() {
        return inFlight.decrementAndGet() >= 0;
    }

    /** Ends the generation. Returns the number of calls whose permits the caller now gives back. */
    int close() {
        return Math.max(0, inFlight.getAndSet(CLOSED));
    }

    /** Calls with a permit; 0 after the end of the generation. */
    int inFlight() {
        return Math.max(0, inFlight.get());
    }

    /** The backend has sent the final head of an answer. */
    void answered(long now) {
        lastAnswerAt = now;
        if (stalled.get() != 0) {
            stalled.set(0);
        }
        if (stalledBefore.get() != 0) {
            stalledBefore.set(0);
        }
    }

    /** The backend has answered a call that was sent at this time. */
    public void answeredCallSentAt(long sentAt, long now) {
        if (sentAt - lastSentOfAnswered > 0) {
            // Benign: of two writes at the same time the earlier one may remain, until the next answer.
            lastSentOfAnswered = sentAt;
        }
        long recovery = recoveryNanos;
        long nanos = now - sentAt;
        if (nanos < recovery) {
            // Benign: of two answers at the same time, one may have no effect.
            recoveryNanos = recovery - Math.max(1, (recovery - nanos) / FORGOTTEN_ONE_IN);
        }
    }

    /**
     * The time after which the answer came that ended the opening before, less a part of the difference for
     * each faster answer since; 0: no answer did.
     *
     * <p>It is a usual time of the calls, which a route learns too late: a backend that has become slower
     * than the stall time would open again with the first calls of each ramp, while the answers of others
     * keep the usual time of the route short.
     */
    public long recoveryNanos() {
        return recoveryNanos;
    }

    /** Whether the backend has answered a call that was sent after this time. */
    public boolean hasAnsweredCallSentAfter(long time) {
        return time - lastSentOfAnswered < 0;
    }

    /** Whether the backend has answered any call since then. */
    public boolean hasAnsweredSince(long time) {
        return time - lastAnswerAt < 0;
    }

    /** The moment of the last answer; before the first one, that of the generation's start. */
    public long lastAnswerAt() {
        return lastAnswerAt;
    }

    /**
     * Counts a call that has waited for too long, unless the backend has answered since {@code silentSince},
     * or the call is counted already.
     *
     * @param sentAt the moment at which the call was sent
     * @param silentSince the moment from which on a silence of the backend is too long for this call;
     *     {@code sentAt} or later
     * @param judgedSince {@code silentSince} of the previous call of this method for the same call; before
     *     {@code sentAt}: there was none
     */
    void countStalled(long sentAt, long silentSince, long judgedSince) {
        long answeredAt = lastAnswerAt;
        boolean isCounted = judgedSince - sentAt >= 0 && judgedSince - answeredAt >= 0;
        if (isCounted || silentSince - answeredAt < 0) {
            return;
        }
        boolean isLater = sentAt - answeredAt >= 0;
        if (stalled.get() == 0 && stalledBefore.get() == 0) {
            stalledSince = isLater ? sentAt : answeredAt;
        }
        (isLater ? stalled : stalledBefore).incrementAndGet();
    }

    /**
     * The stalled calls since the last answer.
     *
     * @param isFull whether no permit is free, so that no later call can be sent; then those count, too, that
     *     were sent before the last answer
     */
    int stalled(boolean isFull) {
        return isFull ? stalled.get() + stalledBefore.get() : stalled.get();
    }

    /** Time since the backend owes an answer to a stalled call. */
    long stalledNanos(long now) {
        return now - stalledSince;
    }
}
