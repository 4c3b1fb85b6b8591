package io.weir.engine;

import io.weir.outcome.Reason;
import org.jspecify.annotations.Nullable;

/**
 * What the caller gets in place of the backend's answer.
 *
 * @param reason of the refusal that is replaced; null: an answer of the backend is replaced, or the route
 *     answers by itself
 * @param isComplete whether it is a complete answer of the gateway; otherwise it is asked of another backend
 * @param ageSeconds the age of the last good answer; {@link #NO_AGE}: it is none
 */
public record Replacement(@Nullable Reason reason, boolean isComplete, long ageSeconds) {

    /** No last good answer. */
    public static final long NO_AGE = -1;

    static Replacement byRoute() {
        return new Replacement(null, true, NO_AGE);
    }

    static Replacement byStaticAnswer(Reason reason) {
        return new Replacement(reason, true, NO_AGE);
    }

    static Replacement byOtherBackend(Reason reason) {
        return new Replacement(reason, false, NO_AGE);
    }

    static Replacement byLastGood(@Nullable Reason reason, long ageSeconds) {
        return new Replacement(reason, true, ageSeconds);
    }

    /** Whether it is the route's last good answer. */
    public boolean isLastGood() {
        return ageSeconds != NO_AGE;
    }

    /** Whether the exchange that ends with this reason has ended with the replacement. */
    boolean endsWith(@Nullable Reason ending) {
        return ending == null || (isComplete && ending == reason);
    }
}
