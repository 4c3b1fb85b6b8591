package io.weir.outcome;

import org.jspecify.annotations.Nullable;

/**
 * A request's refusal by the gateway.
 *
 * @param reason the reason
 * @param detail the details for the caller, without facts about the backend that a caller should not know;
 *     null: none
 * @param retryAfterMillis the time after which the caller should retry, for a 503 or a 429; 0: not
 *     stated
 * @param challenge the value of {@code WWW-Authenticate} (RFC 9110, section 11.6.1); null: none
 */
public record Refusal(
        Reason reason,
        @Nullable String detail,
        long retryAfterMillis,
        @Nullable String challenge) {

    /** A refusal without a challenge. */
    public Refusal(Reason reason, @Nullable String detail, long retryAfterMillis) {
        this(reason, detail, retryAfterMillis, null);
    }

    /** A refusal without {@code Retry-After}. */
    public static Refusal of(Reason reason, @Nullable String detail) {
        return new Refusal(reason, detail, 0);
    }
}
