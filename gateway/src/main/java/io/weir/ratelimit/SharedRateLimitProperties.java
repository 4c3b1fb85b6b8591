package io.weir.ratelimit;

import jakarta.validation.Valid;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.NestedConfigurationProperty;

/**
 * {@code weir.rate-limit}: the counter that all gateways share, for the routes with
 * {@code rate-limit.shared}.
 *
 * @param redis the Redis that keeps the quotas; off unless configured.
 */
public record SharedRateLimitProperties(
        @Nullable @Valid @NestedConfigurationProperty RedisProperties redis) {}
