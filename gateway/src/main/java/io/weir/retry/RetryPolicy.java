package io.weir.retry;

import io.netty.handler.codec.http.HttpMethod;
import java.time.Duration;
import java.util.Set;

/** Decides whether and when a route's request is tried again. */
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
     * Whether a failed attempt may be followed by another, budget, breaker and deadline apart.
     *
     * @param attempts attempts made so far
     * @param sent whether anything of the request may have reached the backend
     * @param hasBody whether the request has a body; once it flows it cannot be replayed
     */
    public boolean allows(int attempts, HttpMethod method, boolean sent, boolean hasBody) {
        if (attempts >= properties.maxAttempts()) {
            return false;
        }
        return !sent || (!hasBody && IDEMPOTENT.contains(method));
    }

    /** Whether an answer with this status is a failure worth another attempt. */
    public boolean retries(int status) {
        return status >= 500 && properties.statuses().contains(status);
    }

    /** Time for an attempt's answer to begin; {@link Long#MAX_VALUE} if there is none of its own. */
    public long attemptTimeoutNanos() {
        return attemptTimeoutNanos;
    }

    /**
     * Wait before the next attempt: doubled each time, jittered by half.
     *
     * @param attempts attempts made so far, at least one
     * @param random from 0 to 1
     */
    public long backoffNanos(int attempts, double random) {
        long base = properties.backoff().toNanos() << Math.min(attempts - 1, 16);
        return (long) (base * (0.5 + random));
    }
}
