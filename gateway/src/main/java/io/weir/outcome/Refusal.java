package io.weir.outcome;

import io.netty.handler.codec.http.HttpResponseStatus;
import org.jspecify.annotations.Nullable;

/**
 * A request's refusal by the gateway.
 *
 * @param reason the reason
 * @param detail the details for the caller, without facts about the backend that a caller should not know;
 *     null: none
 * @param retryAfterMillis the time after which the caller should retry, for a 503 or a 429; 0: not
 *     stated
 * @param status the status of the answer: the reason's, except that of an injected fault
 * @param challenge the value of {@code WWW-Authenticate} (RFC 9110, section 11.6.1); null: none
 */
public record Refusal(
        Reason reason,
        @Nullable String detail,
        long retryAfterMillis,
        int status,
        @Nullable String challenge) {

    /** A refusal with the reason's status, and without a challenge. */
    public Refusal(Reason reason, @Nullable String detail, long retryAfterMillis) {
        this(reason, detail, retryAfterMillis, reason.status().code(), null);
    }

    /** A refusal without {@code Retry-After}. */
    public static Refusal of(Reason reason, @Nullable String detail) {
        return new Refusal(reason, detail, 0);
    }

    /** This refusal with a challenge. */
    public Refusal challenging(@Nullable String with) {
        return with == null ? this : new Refusal(reason, detail, retryAfterMillis, status, with);
    }

    /** The status of the answer. */
    public HttpResponseStatus httpStatus() {
        return hasReasonsStatus() ? reason.status() : HttpResponseStatus.valueOf(status);
    }

    /** Whether the answer has the reason's own status. */
    boolean hasReasonsStatus() {
        return status == reason.status().code();
    }
}
