package io.weir.door;

import io.weir.ratelimit.RateLimiter;
import org.jspecify.annotations.Nullable;

/**
 * A route as the management endpoints show it.
 *
 * @param id the id of Spring Cloud Gateway's route
 * @param backend the name of the route's backend; null if the route has none
 * @param door {@code compiled} or {@code general}
 * @param why the reason why the route is not compiled; null if it is compiled
 * @param rateLimiter the route's rate limit; null if it has none
 */
public record RouteView(
        String id,
        @Nullable String backend,
        String door,
        @Nullable String why,
        @Nullable RateLimiter rateLimiter) {}
