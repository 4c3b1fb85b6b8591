package io.weir.ratelimit;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import java.util.concurrent.TimeUnit;

/**
 * The caller's quota after a request, and whether the request is within it. Immutable.
 *
 * @param policy the value of {@code RateLimit-Policy}
 * @param isAllowed whether the request is within the quota
 * @param remaining requests that are allowed at once after this one
 * @param nanosToNextPermit the time until another request is allowed
 */
public record Quota(AsciiString policy, boolean isAllowed, long remaining, long nanosToNextPermit) {

    private static final AsciiString RATE_LIMIT = AsciiString.cached("ratelimit");
    private static final AsciiString RATE_LIMIT_POLICY = AsciiString.cached("ratelimit-policy");
    private static final long NANOS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);

    /**
     * Adds {@code RateLimit-Policy} and {@code RateLimit} (draft-ietf-httpapi-ratelimit-headers-10). Both are
     * lists: fields of the backend about its own quotas stay beside them.
     */
    public void writeTo(HttpHeaders head) {
        head.add(RATE_LIMIT_POLICY, policy);
        head.add(RATE_LIMIT, RateLimiter.POLICY_NAME + ";r=" + remaining + ";t=" + ceilSeconds(nanosToNextPermit));
    }

    /** Whole seconds, rounded up: the fields have no fractions. */
    static long ceilSeconds(long nanos) {
        return (nanos + NANOS_PER_SECOND - 1) / NANOS_PER_SECOND;
    }
}
