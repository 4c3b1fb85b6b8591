package io.weir.outcome;

import org.jspecify.annotations.Nullable;

/**
 * An answer that the gateway makes itself.
 *
 * @param reason why
 * @param detail what exactly, for the caller; without anything about the backend that a caller should not know
 * @param retryAfterMillis when to try again, for a 503; 0 where it is not said
 */
public record Refusal(Reason reason, @Nullable String detail, long retryAfterMillis) {

    /** A refusal that says nothing about when to try again. */
    public static Refusal of(Reason reason, @Nullable String detail) {
        return new Refusal(reason, detail, 0);
    }
}
