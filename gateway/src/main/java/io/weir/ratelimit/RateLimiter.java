package io.weir.ratelimit;

import io.github.bucket4j.ConsumptionProbe;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The rate limit of one route: takes a permit of the caller's bucket for each request. Thread-safe. */
public final class RateLimiter {

    /** The name of the policy in the fields of an answer, a string of structured fields (RFC 9651). */
    static final String POLICY_NAME = "\"default\"";

    private final RateLimitProperties properties;
    private final RateLimitKey key;
    private final Buckets buckets;
    private final AsciiString policy;

    private RateLimiter(RateLimitProperties properties, Buckets buckets) {
        this.properties = properties;
        this.key = RateLimitKey.parse(properties.key());
        this.buckets = buckets;
        this.policy = AsciiString.of(POLICY_NAME + ";q=" + properties.permits() + ";w="
                + Quota.ceilSeconds(properties.period().toNanos()));
    }

    /**
     * The rate limit of a route.
     *
     * @param before the limit of the route with the same id in the configuration in force; null: none. If
     *     only {@code enforce} differs, the new limit shares its buckets.
     */
    public static RateLimiter of(RateLimitProperties properties, @Nullable RateLimiter before, LongSupplier nanoClock) {
        if (before != null && before.properties.equals(properties)) {
            return before;
        }
        if (before != null && withoutEnforce(before.properties).equals(withoutEnforce(properties))) {
            return new RateLimiter(properties, before.buckets);
        }
        return new RateLimiter(
                properties,
                new Buckets(
                        properties.permits(),
                        properties.period(),
                        properties.burstOrDefault(),
                        properties.maxKeys(),
                        nanoClock));
    }

    private static RateLimitProperties withoutEnforce(RateLimitProperties properties) {
        return new RateLimitProperties(
                properties.key(),
                properties.permits(),
                properties.period(),
                properties.burstOrDefault(),
                properties.maxKeys(),
                true);
    }

    /**
     * Takes a permit of the caller's bucket if there is one.
     *
     * @param head the request's head as received
     * @param clientNetwork the caller's address, or of an IPv6 address its network; asked only if it is
     *     the key
     */
    public Quota take(HttpHeaders head, Supplier<String> clientNetwork) {
        ConsumptionProbe probe = buckets.of(key.of(head, clientNetwork)).tryConsumeAndReturnRemaining(1);
        long remaining = probe.getRemainingTokens();
        return new Quota(
                policy,
                probe.isConsumed(),
                remaining,
                probe.isConsumed()
                        ? nanosToNextPermit(probe.getNanosToWaitForReset(), remaining)
                        : probe.getNanosToWaitForRefill());
    }

    /**
     * The time until the next permit, from the time until the bucket is full: the permits that are missing
     * after the next one need the rest of that time.
     */
    private long nanosToNextPermit(long nanosToFull, long remaining) {
        long laterPermits = properties.burstOrDefault() - remaining - 1;
        double nanosPerPermit = (double) properties.period().toNanos() / properties.permits();
        return Math.max(0, nanosToFull - (long) (laterPermits * nanosPerPermit));
    }

    /** Whether requests over the quota are refused; otherwise they are only counted. */
    public boolean isEnforced() {
        return properties.enforce();
    }

    /** The configuration. */
    public RateLimitProperties properties() {
        return properties;
    }

    /** The number of keys that are remembered. */
    public long keys() {
        return buckets.keys();
    }

    /** Keys that were forgotten because of {@code max-keys} although their buckets may not have been full. */
    public long forgottenKeys() {
        return buckets.forgotten();
    }
}
