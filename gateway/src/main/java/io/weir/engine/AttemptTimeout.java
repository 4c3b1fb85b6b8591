package io.weir.engine;

import io.weir.outcome.Reason;
import io.weir.retry.RetryPolicy;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The time-outs of an attempt. Stateless: the times are read from the attempt. The deadline of the exchange
 * belongs to {@link ExchangeTimer}.
 */
enum AttemptTimeout {
    /** No connection within the time for DNS, every address of the name, and TLS together. */
    CONNECT(Reason.CONNECT_TIMEOUT, "no connection in time"),
    /** No answer within the retry policy's attempt time-out, the caller's own time excluded. */
    ANSWER(Reason.DEADLINE_EXCEEDED, "no answer within the attempt's time"),
    /** The caller has sent nothing of its body for too long. */
    UPLOAD_IDLE(Reason.CLIENT_TOO_SLOW, "the request body stalls"),
    /** The stream has had no traffic for too long. */
    STREAM_IDLE(Reason.DEADLINE_EXCEEDED, "the stream is idle");

    private static final long NEVER = ExchangePhase.NEVER;

    /** The shortest time between two checks of the backend's own time while the caller holds up the call. */
    private static final long HELD_UP_POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final Reason reason;
    private final String detail;

    AttemptTimeout(Reason reason, String detail) {
        this.reason = reason;
        this.detail = detail;
    }

    Reason reason() {
        return reason;
    }

    String detail() {
        return detail;
    }

    /** The time-out of an unanswered attempt that has expired; null: none. */
    static @Nullable AttemptTimeout expired(Attempt attempt, long now) {
        if (!attempt.isConnected() && connectLeftNanos(attempt, now) <= 0) {
            return CONNECT;
        }
        if (answerLeftNanos(attempt, attempt.backendOnlyNanos(now)) <= 0) {
            return ANSWER;
        }
        return attempt.isWaitingForUpload() && uploadIdleLeftNanos(attempt, now) <= 0 ? UPLOAD_IDLE : null;
    }

    /** Whether the answer is a stream that has had no traffic for too long. */
    static boolean isStreamIdle(Attempt attempt, long now) {
        return attempt.exchange.hasOpenEnd() && streamIdleLeftNanos(attempt, now) <= 0;
    }

    /** Time until an unanswered attempt has to be checked. */
    static long dueNanos(Attempt attempt, long now) {
        long backendNanos = attempt.backendOnlyNanos(now);
        long due = unlessHeldUp(
                attempt,
                Math.min(attempt.evidence().dueNanos(backendNanos, now), answerLeftNanos(attempt, backendNanos)));
        if (!attempt.isConnected()) {
            due = Math.min(due, connectLeftNanos(attempt, now));
        }
        return attempt.isWaitingForUpload() ? Math.min(due, uploadIdleLeftNanos(attempt, now)) : due;
    }

    /** Time until an attempt whose answer has begun has to be checked. */
    static long dueNanosAnswering(Attempt attempt, long now) {
        return attempt.exchange.hasOpenEnd() ? streamIdleLeftNanos(attempt, now) : NEVER;
    }

    /** While the caller holds up the call, the backend's own time does not advance: then check less often. */
    private static long unlessHeldUp(Attempt attempt, long backendDueNanos) {
        return attempt.isWaitingForUpload() || attempt.isHeldUpByCaller()
                ? Math.max(backendDueNanos, HELD_UP_POLL_NANOS)
                : backendDueNanos;
    }

    private static long connectLeftNanos(Attempt attempt, long now) {
        return attempt.connectTime().leftNanos(now);
    }

    private static long answerLeftNanos(Attempt attempt, long backendNanos) {
        RetryPolicy retry = attempt.exchange.record().route().retry();
        return retry == null || retry.attemptTimeoutNanos() == NEVER
                ? NEVER
                : retry.attemptTimeoutNanos() - backendNanos;
    }

    private static long uploadIdleLeftNanos(Attempt attempt, long now) {
        return attempt.exchange.resources().limits().bodyIdleNanos() - (now - attempt.lastMovedNanos());
    }

    private static long streamIdleLeftNanos(Attempt attempt, long now) {
        long moved = attempt.lastMovedNanos();
        long idle = now - (moved == Long.MIN_VALUE ? attempt.startedAt() : moved);
        return attempt.backend.settings().streamIdleNanos() - idle;
    }
}
