package io.weir.ratelimit;

import io.github.bucket4j.ConsumptionProbe;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The rate limit of one route: takes a permit of the caller's bucket for each request. Thread-safe. */
public final class RateLimiter {

    /** The name of the policy in the fields of an answer, a string of structured fields (RFC 9651). */
    static final String POLICY_NAME = "\"default\"";

    private static final double NANOS_PER_MICRO = TimeUnit.MICROSECONDS.toNanos(1);

    private final RateLimitProperties properties;
    private final RateLimitKey key;
    private final Buckets buckets;
    private final AsciiString policy;
    private final @Nullable SharedBuckets shared;
    private final SharedBuckets.Rate sharedRate;
    private final String sharedPrefix;

    private RateLimiter(String route, RateLimitProperties properties, Buckets buckets, @Nullable SharedBuckets shared) {
        this.properties = properties;
        this.key = RateLimitKey.parse(properties.key());
        this.buckets = buckets;
        this.policy = AsciiString.of(POLICY_NAME + ";q=" + properties.permits() + ";w="
                + Quota.ceilSeconds(properties.period().toNanos()));
        this.shared = properties.shared() ? shared : null;
        this.sharedRate = new SharedBuckets.Rate(
                (double) properties.period().toNanos() / NANOS_PER_MICRO / properties.permits(),
                properties.burstOrDefault());
        // With the quota, so that a changed one begins with full buckets.
        this.sharedPrefix = route + ':' + properties.permits() + '/'
                + properties.period().toMillis() + "ms/" + properties.burstOrDefault() + ':';
    }

    /**
     * The rate limit of a route.
     *
     * @param route the route's id
     * @param before the limit of this route in the configuration in force; null: none. If only
     *     {@code enforce} or {@code shared} differs, the new limit has the same buckets.
     * @param shared the counter that all gateways share, for a limit that is {@code shared}; null: none
     */
    public static RateLimiter of(
            String route,
            RateLimitProperties properties,
            @Nullable RateLimiter before,
            @Nullable SharedBuckets shared,
            LongSupplier nanoClock) {
        if (before != null && before.properties.equals(properties)) {
            return before;
        }
        if (before != null && withoutEnforce(before.properties).equals(withoutEnforce(properties))) {
            return new RateLimiter(route, properties, before.buckets, shared);
        }
        return new RateLimiter(
                route,
                properties,
                new Buckets(
                        properties.permits(),
                        properties.period(),
                        properties.burstOrDefault(),
                        properties.maxKeys(),
                        nanoClock),
                shared);
    }

    private static RateLimitProperties withoutEnforce(RateLimitProperties properties) {
        return new RateLimitProperties(
                properties.key(),
                properties.permits(),
                properties.period(),
                properties.burstOrDefault(),
                properties.maxKeys(),
                true,
                false);
    }

    /** Whether the counter that all gateways share decides: {@link #takeShared}. */
    public boolean asksShared() {
        SharedBuckets buckets = shared;
        return buckets != null && buckets.isAvailable();
    }

    /** How long a request waits for the shared counter; 0: there is none. */
    public long sharedTimeoutNanos() {
        return shared == null ? 0 : shared.timeoutNanos();
    }

    /** A request has waited for the shared counter in vain; it has asked for this key. */
    public void sharedTimedOut(String sharedKey) {
        if (shared != null) {
            shared.timedOut(sharedKey);
        }
    }

    /**
     * The key of a request's bucket that all gateways share.
     *
     * @param head the request's head as received
     * @param clientNetwork the caller's address, or of an IPv6 address its network; asked only if it is
     *     the key
     * @param callerByClaim the caller as a claim of its verified token names it, null: it does not; asked
     *     only if it is the key
     */
    public String sharedKey(
            HttpHeaders head, Supplier<String> clientNetwork, Function<String, @Nullable String> callerByClaim) {
        return sharedPrefix + key.outside(key.of(head, clientNetwork, callerByClaim));
    }

    /**
     * Takes a permit of the bucket that all gateways share, if there is one.
     *
     * @param sharedKey the result of {@link #sharedKey}
     * @param receiver receives the quota on any thread; null: the counter has failed, and {@link #take}
     *     decides. Not called if the counter hangs.
     */
    public void takeShared(String sharedKey, Consumer<@Nullable Quota> receiver) {
        SharedBuckets buckets = Objects.requireNonNull(shared, "shared");
        buckets.take(sharedKey, sharedRate)
                .whenComplete((taken, failure) -> receiver.accept(
                        failure != null
                                ? null
                                : new Quota(policy, taken.isAllowed(), taken.remaining(), taken.nanosToNextPermit())));
    }

    /**
     * Takes a permit of the caller's bucket in this gateway if there is one.
     *
     * @param head the request's head as received
     * @param clientNetwork the caller's address, or of an IPv6 address its network; asked only if it is
     *     the key
     * @param callerByClaim the caller as a claim of its verified token names it, null: it does not; asked
     *     only if it is the key
     */
    public Quota take(
            HttpHeaders head, Supplier<String> clientNetwork, Function<String, @Nullable String> callerByClaim) {
        if (shared != null) {
            shared.decidedLocally();
        }
        ConsumptionProbe probe =
                buckets.of(key.of(head, clientNetwork, callerByClaim)).tryConsumeAndReturnRemaining(1);
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
