package io.weir.engine;

import io.weir.limit.Limit.Evidence;
import io.weir.slowcaller.SlowCaller;
import java.util.concurrent.TimeUnit;

/**
 * A call that its caller holds up: the gateway waits for more of the request's body, or the answer waits for
 * a caller that does not read it. After a total of {@link #PATIENCE_NANOS} of such time the call moves from
 * the backend's bulkhead to its compartment of streams, if that has room; an answer that is not read moves
 * after {@link #PATIENCE_IF_CALLS_WAIT_NANOS} while other calls wait for a permit. So slow callers take no
 * permits from others. If the compartment has no room, {@link SlowCallers} makes it.
 *
 * <p>Stateless: the times are read from the attempt.
 */
final class HeldUpCall {

    /** The time for which a caller may hold up a permit. */
    static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** The same for a caller that does not read its answer, while other calls wait for a permit. */
    static final long PATIENCE_IF_CALLS_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /**
     * The shortest time between two checks, for a caller that holds up the call again and again for moments.
     */
    private static final long MIN_PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** The time between two checks of an answer that nothing holds up yet, while other calls wait. */
    static final long PERIOD_IF_CALLS_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

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
        RequestBody upload = body == null || body.hasEnded() ? null : body;
        if ((isAnswering || upload != null) && attempt.permits().isMovable()) {
            return Math.min(due, moveDueNanos(attempt, isAnswering, now));
        }
        SlowCaller slow = attempt.exchange.slowCaller();
        // An upload that is not behind may fall behind again; an answer is looked at by its own detector.
        boolean isLookedAt =
                slow != null && (slow.isBehind() || (!isAnswering && upload != null && !upload.isConversation()));
        return isLookedAt ? Math.min(due, SlowCaller.LOOK_NANOS) : due;
    }

    private static long moveDueNanos(Attempt attempt, boolean isAnswering, long now) {
        boolean callsWait = isAnswering && doCallsWait(attempt);
        long left = (callsWait ? PATIENCE_IF_CALLS_WAIT_NANOS : PATIENCE_NANOS) - attempt.callerNanos(now);
        if (left <= 0) {
            // Another try follows: the compartment of streams was full, or nothing held up the call.
            return RETRY_NANOS;
        }
        return Math.max(left, callsWait && !isHeldUp(attempt) ? PERIOD_IF_CALLS_WAIT_NANOS : MIN_PERIOD_NANOS);
    }

    private static boolean doCallsWait(Attempt attempt) {
        return attempt.backend.bulkhead().queued() > 0;
    }

    /** Whether the call waits for its caller at this moment. */
    private static boolean isHeldUp(Attempt attempt) {
        return attempt.isWaitingForUpload() || attempt.isHeldUpByCaller();
    }

    /**
     * Moves the call if its caller holds it up, and has done so for too long. If there is no room, and all
     * permits of the backend are in use, the slowest call that was moved makes room; the call itself moves a
     * moment later. A bulkhead that is not enforced ends no call.
     *
     * <p>A call that was held up before, and is in the backend's hands now, keeps its permit: the permit
     * stands for work of the backend.
     *
     * @param evidence what the backend's answer says so far; {@link Evidence#NONE} before it has begun
     */
    static void moveIfHeldUp(Attempt attempt, Evidence evidence, long now) {
        Permits permits = attempt.permits();
        if (!permits.isMovable() || !isHeldUp(attempt) || attempt.callerNanos(now) < patienceNanos(attempt)) {
            return;
        }
        if (!permits.moveHeldUp(evidence, attempt.backendNanos(now), now)
                && attempt.backend.bulkhead().isFull()) {
            attempt.exchange.resources().slowCallers().endSlowest(attempt.backend.streams(), now);
        }
    }

    private static long patienceNanos(Attempt attempt) {
        return attempt.isHeldUpByCaller() && doCallsWait(attempt) ? PATIENCE_IF_CALLS_WAIT_NANOS : PATIENCE_NANOS;
    }

    /** Records the progress of an upload. One that may pause for as long as it wants is never behind. */
    static void look(Attempt attempt, long now) {
        SlowCaller slow = attempt.exchange.slowCaller();
        if (slow != null) {
            RequestBody body = attempt.exchange.body();
            boolean isBehind = attempt.isWaitingForUpload() && body != null && !body.isConversation();
            slow.look(isBehind, 0, attempt.exchange.sentBytes(), now);
        }
    }

    /** Whether the request's body arrives below the minimum rate. */
    static boolean isBelowMinimumRate(Attempt attempt, long now) {
        RequestBody body = attempt.exchange.body();
        return body != null && body.rateLeftNanos(now) <= 0;
    }
}
