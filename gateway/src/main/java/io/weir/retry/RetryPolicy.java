package io.weir.retry;

import io.netty.handler.codec.http.HttpMethod;
import java.time.Duration;
import java.util.Set;

/** Decides whether and when a request of a route is retried. */
public final class RetryPolicy {

    private static final Set<HttpMethod> IDEMPOTENT = Set.of(
            HttpMethod.GET, HttpMethod.HEAD, HttpMethod.OPTIONS, HttpMethod.TRACE, HttpMethod.PUT, HttpMethod.DELETE);

    private static final long NO_TIMEOUT = Long.MAX_VALUE;

    private final RetryProperties properties;
    private final long attemptTimeoutNanos;

    /** The policy of a route. */
    public RetryPolicy(RetryProperties properties) {
        this.properties = properties;
        Duration timeout = properties.attemptTimeout();
        this.attemptTimeoutNanos = timeout == null ? NO_TIMEOUT : timeout.toNanos();
    }

    /**
     * Whether a failed attempt may be retried. Budget, breaker and deadline are checked elsewhere.
     *
     * @param attempts the attempts made so far
     * @param sent whether any part of the request may have reached the backend
     * @param hasBody whether the request has a body; once sent, it cannot be replayed
     */
    public boolean allows(int attempts, HttpMethod method, boolean sent, boolean hasBody) {
        if (attempts >= properties.maxAttempts()) {
            return false;
        }
        return !sent || isRepeatable(method, hasBody);
    }

    /** Whether a request that may have reached the backend can be sent again. */
    public static boolean isRepeatable(HttpMethod method, boolean hasBody) {
        return !hasBody && IDEMPOTENT.contains(method);
    }

    /** Whether an answer with this status is a failure to be retried. */
    public boolean retries(int status) {
        return status >= 500 && properties.statuses().contains(status);
    }

    /** The time until an attempt's answer must begin; {@link Long#MAX_VALUE} if none is configured. */
    public long attemptTimeoutNanos() {
        return attemptTimeoutNanos;
    }

    /**
     * The wait before the next attempt: doubled after each attempt, jittered by half.
     *
     * @param attempts the attempts made so far, at least one
     * @param random 0 (inclusive) to 1 (exclusive)
     */
    public long backoffNanos(int attempts, double random) {
        long base = properties.backoff().toNanos() << Math.min(attempts - 1, 16);
        return (long) (base * (0.5 + random));
    }
}
