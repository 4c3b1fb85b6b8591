package io.weir.engine;

/**
 * The protections of a backend that refuse. A protection that does not refuse is in a dry run: it lets every
 * call pass, and counts the calls that it would have refused.
 *
 * @param bulkhead whether the limits on calls and streams refuse
 * @param circuitBreaker whether the breaker refuses
 * @param deadline whether the deadline ends an exchange
 */
public record Enforcement(boolean bulkhead, boolean circuitBreaker, boolean deadline) {

    /** Every protection refuses. */
    public static final Enforcement FULL = new Enforcement(true, true, true);
}
