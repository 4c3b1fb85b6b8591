package io.weir.engine;

import io.weir.limit.Limit.Evidence;
import io.weir.limit.QueueingBulkhead;
import java.util.concurrent.TimeUnit;

/**
 * A call that its caller holds up: the gateway waits for more of the request's body, or the answer waits for
 * a caller that does not read it. After a total of {@link #PATIENCE_NANOS} of such time, or of
 * {@link #PATIENCE_IF_CALLS_WAIT_NANOS} while other calls wait for a permit, the call moves from the
 * backend's bulkhead to its compartment of streams, if that has room. So slow callers take no permits from
 * others. If the compartment has no room, {@link SlowCallers} makes it.
 *
 * <p>Stateless: the times are read from the attempt.
 */
final class HeldUpCall {

    /** The time for which a caller may hold up a permit. */
    static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /**
     * The same while other calls wait for a permit: also the shortest time between two checks, for a caller
     * that holds up the call again and again for moments.
     */
    static final long PATIENCE_IF_CALLS_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** The time until the next try to move the call, if the compartment has no room. */
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private HeldUpCall() {}

    /**
     * Time until the call must be checked.
     *
     * @param isAnswering whether the answer has begun
     */
    static long dueNanos(Attempt attempt, boolean isAnswering, long now) {
        RequestBody body = attempt.exchange.body();
        long due = body == null ? ExchangePhase.NEVER : body.rateLeftNanos(now);
        boolean isUploading = body != null && !body.hasEnded();
        if ((isAnswering || isUploading) && attempt.admission().isMovable()) {
            return Math.min(due, moveDueNanos(attempt, now));
        }
        return attempt.exchange.slowCaller() == null ? due : Math.min(due, SlowCaller.LOOK_NANOS);
    }

    private static long moveDueNanos(Attempt attempt, long now) {
        long left = patienceNanos(attempt) - attempt.callerNanos(now);
        // While the compartment of streams is full, another try follows.
        return left <= 0 ? RETRY_NANOS : Math.max(left, PATIENCE_IF_CALLS_WAIT_NANOS);
    }

    private static long patienceNanos(Attempt attempt) {
        return attempt.backend.bulkhead().queued() > 0 ? PATIENCE_IF_CALLS_WAIT_NANOS : PATIENCE_NANOS;
    }

    /**
     * Moves the call if its caller has held it up for too long. If there is no room, and all permits of the
     * backend are in use, the slowest call that was moved makes room; the call itself moves a moment later.
     *
     * @param evidence what the backend's answer says so far; {@link Evidence#NONE} before it has begun
     */
    static void moveIfHeldUp(Attempt attempt, Evidence evidence, long now) {
        Admission admission = attempt.admission();
        if (!admission.isMovable() || attempt.callerNanos(now) < patienceNanos(attempt)) {
            return;
        }
        if (!admission.moveToStreams(evidence, attempt.backendNanos(now), now) && isFull(attempt.backend.bulkhead())) {
            attempt.exchange.engine().slowCallers().endSlowest(attempt.backend.streams(), now);
        }
    }

    private static boolean isFull(QueueingBulkhead bulkhead) {
        return bulkhead.inUse() >= bulkhead.maxConcurrentCalls();
    }

    /** Records the progress of an upload. */
    static void look(Attempt attempt, long now) {
        SlowCaller slow = attempt.exchange.slowCaller();
        if (slow != null) {
            slow.look(attempt.isWaitingForUpload(), 0, attempt.exchange.sentBytes(), now);
        }
    }

    /** Whether the request's body arrives below the minimum rate. */
    static boolean isBelowMinimumRate(Attempt attempt, long now) {
        RequestBody body = attempt.exchange.body();
        return body != null && body.rateLeftNanos(now) <= 0;
    }
}
