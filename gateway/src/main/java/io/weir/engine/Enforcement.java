package io.weir.engine;

import io.weir.limit.QueueingBulkhead;
import org.jspecify.annotations.Nullable;

/**
 * Which of a backend's protections refuse, and which are only tried out: those let everything through, and count what they
 * would have refused.
 *
 * @param bulkhead whether the caps on calls and streams refuse
 * @param circuitBreaker whether the breaker refuses
 * @param deadline whether the deadline ends an exchange
 * @param trial where calls ask for the permits that they do not need, to find out who would have waited and who would have
 *     been refused; null: the bulkhead refuses by itself
 */
public record Enforcement(
        boolean bulkhead,
        boolean circuitBreaker,
        boolean deadline,
        @Nullable QueueingBulkhead trial) {

    /** Everything refuses. */
    public static final Enforcement FULL = new Enforcement(true, true, true, null);
}
