package io.weir.engine;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.fallback.StaticAnswer;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import org.jspecify.annotations.Nullable;

/**
 * The next step of an exchange, decided by one of its parts. The part returns the decision; {@link
 * Exchange#apply} carries it out.
 *
 * <p>Decisions on the usual path carry no data and are constants, so that they cost no allocation.
 */
sealed interface Decision {

    /** A decision without data. */
    enum Step implements Decision {
        /** Nothing to do until the next event. */
        WAIT,
        /** The caller may use the route: check its quota. */
        CHECK_QUOTA,
        /** The counter that all gateways share does not answer: this gateway's own count decides. */
        TAKE_LOCAL_PERMIT,
        /** The request is within its quota: check its head. */
        CHECK_HEAD,
        /** The request is checked, or the backoff has ended: read the body ahead, or request the permits. */
        REQUEST_ADMISSION,
        /** The body is read ahead: request a permit. */
        REQUEST_PERMIT,
        /** The admission waits in the bulkhead's queue. */
        QUEUE,
        /** The admission holds its permits: start an attempt. */
        ADMIT,
        /** The injected latency has passed: send the request. */
        SEND
    }

    /**
     * The gateway or the fallback answers in place of the backend. The caller has received nothing so far.
     *
     * @param reason the reason for the caller
     * @param detail more about it; null: nothing
     * @param challenge the value of {@code WWW-Authenticate}; null: none
     */
    record Refuse(
            Reason reason,
            @Nullable String detail,
            @Nullable String challenge) implements Decision {

        /** A refusal without a challenge. */
        Refuse(Reason reason, @Nullable String detail) {
            this(reason, detail, null);
        }

        static final Refuse CIRCUIT_OPEN = new Refuse(Reason.CIRCUIT_OPEN, null);
        static final Refuse ROUTE_FULL = new Refuse(Reason.BULKHEAD_FULL, "the route is at its limit");
        static final Refuse CALLER_FULL =
                new Refuse(Reason.BULKHEAD_FULL, "the caller is at its limit (max-concurrent-per-key)");
        static final Refuse ROUTE_HANGS =
                new Refuse(Reason.BULKHEAD_FULL, "the route's calls hang and hold half of the limit");
        static final Refuse STREAMS_FULL = new Refuse(Reason.BULKHEAD_FULL, "the streams are at their limit");
        static final Refuse BULKHEAD_FULL = new Refuse(Reason.BULKHEAD_FULL, null);
        static final Refuse QUEUE_TIMEOUT = new Refuse(Reason.QUEUE_TIMEOUT, null);
        static final Refuse QUEUE_EVICTED = new Refuse(Reason.QUEUE_EVICTED, null);
        static final Refuse DEADLINE_EXCEEDED = new Refuse(Reason.DEADLINE_EXCEEDED, null);
        static final Refuse TOO_LITTLE_TIME =
                new Refuse(Reason.DEADLINE_EXCEEDED, "too little time is left to wait for a permit");
        static final Refuse UPLOAD_TOO_SLOW = new Refuse(Reason.CLIENT_TOO_SLOW, "the body did not arrive in time");
        static final Refuse UPLOAD_IDLE = new Refuse(Reason.CLIENT_TOO_SLOW, "the request body stalls");
        static final Refuse BELOW_MINIMUM_RATE =
                new Refuse(Reason.CLIENT_TOO_SLOW, "the body arrives below the minimum rate");
        static final Refuse PAYLOAD_TOO_LARGE = new Refuse(Reason.PAYLOAD_TOO_LARGE, null);
        static final Refuse FORBIDDEN = new Refuse(Reason.FORBIDDEN, null);
        static final Refuse RATE_LIMITED = new Refuse(Reason.RATE_LIMITED, null);
        static final Refuse GATEWAY_OVERLOADED = new Refuse(Reason.GATEWAY_OVERLOADED, null);
        static final Refuse SHUTTING_DOWN = new Refuse(Reason.SHUTTING_DOWN, null);
    }

    /**
     * Breaks off an answer that has begun.
     *
     * @param reason the reason for the record
     * @param detail more about it; null: nothing
     */
    record BreakOff(Reason reason, @Nullable String detail) implements Decision {

        static final BreakOff DEADLINE_EXCEEDED = new BreakOff(Reason.DEADLINE_EXCEEDED, null);
        static final BreakOff CALLER_TOO_SLOW = new BreakOff(Reason.CLIENT_TOO_SLOW, null);
        static final BreakOff BELOW_MINIMUM_RATE =
                new BreakOff(Reason.CLIENT_TOO_SLOW, "the body arrives below the minimum rate");
        static final BreakOff ANSWER_NOT_READ =
                new BreakOff(Reason.CLIENT_TOO_SLOW, "the caller does not read the answer");
    }

    /**
     * Ends the attempt; another follows after a backoff.
     *
     * @param backoffNanos time until the permits of the next attempt are requested
     * @param failure the refusal that the attempt would have ended with; null: an answer is retried
     * @param status the answer's status; 0: a failure is retried
     */
    record Retry(long backoffNanos, @Nullable Refuse failure, int status) implements Decision {}

    /**
     * Ends the attempt, whose answer has this status, and sends another answer in place of it.
     *
     * @param instead the last good answer
     */
    record Replace(int status, Answer instead) implements Decision {}

    /** Waits in this phase for an event or a time-out. */
    record Await(ExchangePhase phase) implements Decision {}

    /**
     * Sends a complete answer: the route's own, a static fallback, a last good answer, or the one that was to
     * be retried.
     *
     * @param body bytes that do not change
     * @param isFallback whether the request's body is not needed any more
     */
    @SuppressWarnings("ArrayRecordComponent") // Never compared.
    record Answer(int status, HttpHeaders headers, byte[] body, boolean isFallback) implements Decision {

        /** The answer to this caller. */
        static Answer of(StaticAnswer answer, Caller caller) {
            boolean isHead = HttpMethod.HEAD.equals(caller.method());
            return new Answer(answer.status(), answer.headers(), answer.body(isHead), true);
        }
    }

    /**
     * Ends the exchange with the gateway's own answer.
     *
     * @param detail more about the reason, for the record; null: nothing
     */
    record Finish(Refusal refusal, @Nullable String detail) implements Decision {}

    /** Requests a permit of the fallback's backend. */
    record AskFallback(Backend backend) implements Decision {}
}
