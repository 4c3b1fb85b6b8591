package io.weir.instance;

import jakarta.validation.Valid;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.NestedConfigurationProperty;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.backends.<name>.load-balancing}: the division of a backend's calls among its instances.
 *
 * @param policy the rule by which a call's instance is chosen; {@code least-latency}: the better of two
 *     random instances, by calls in flight and latency; {@code round-robin}: one after the other, a slow
 *     instance as often as a fast one; {@code hash}: the instance that {@code hash-key} determines. All of
 *     them follow the weights.
 * @param hashKey the part of a request that determines its instance with {@code hash}; {@code header:NAME},
 *     {@code cookie:NAME}, or {@code client-address}: the caller's address, as trusted proxies report it (of
 *     an IPv6 address, its /64 network); required with {@code hash}. An instance that has many more calls
 *     than the others takes no further ones. Calls without the key use {@code least-latency}.
 * @param sessionCookie a cookie that the gateway sets, so that a caller stays with the instance that has
 *     answered it, whatever the policy; default: none.
 * @param slowStart time in which an instance that is new or was away gets its full share of the calls, from
 *     a tenth on; 0 to 1h; 0: its full share at once. A JVM is slow until its code is compiled and its
 *     caches are filled. Without effect while all instances start.
 * @param maxConcurrentCallsPerInstance maximum number of concurrent calls in each instance; 1 to 1000000;
 *     default: none. Calls that find no room in any instance wait in the backend's queue; the limit in force
 *     is at most this number times the instances that are not open. Streams do not count.
 */
public record LoadBalancingProperties(
        @DefaultValue("least-latency") LoadBalancingPolicy policy,

        @Nullable @Pattern(regexp = HashKey.PATTERN, message = HashKey.EXPECTED)
        String hashKey,

        @Nullable @Valid @NestedConfigurationProperty SessionCookieProperties sessionCookie,

        @DefaultValue("10s") @DurationMin @DurationMax(hours = 1)
        Duration slowStart,

        @Nullable @Min(1) @Max(1_000_000) Integer maxConcurrentCallsPerInstance) {

    /** No limit on the calls of an instance. */
    static final int UNLIMITED = Integer.MAX_VALUE;

    /** The defaults. */
    public static LoadBalancingProperties defaults() {
        return new LoadBalancingProperties(LoadBalancingPolicy.LEAST_LATENCY, null, null, Duration.ofSeconds(10), null);
    }

    /** The key of {@code hash}; null: another policy is in force. */
    @Nullable
    HashKey key() {
        return policy == LoadBalancingPolicy.HASH && hashKey != null ? HashKey.of(hashKey) : null;
    }

    int maxCallsEach() {
        return maxConcurrentCallsPerInstance == null ? UNLIMITED : maxConcurrentCallsPerInstance;
    }
}
