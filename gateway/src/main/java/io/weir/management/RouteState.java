package io.weir.management;

import io.weir.door.RouteView;
import io.weir.hedge.HedgePolicy;
import io.weir.ratelimit.RateLimitProperties;
import io.weir.ratelimit.RateLimiter;
import org.jspecify.annotations.Nullable;

/**
 * A route in the endpoint {@code weir}.
 *
 * @param id the id of Spring Cloud Gateway's route
 * @param backend the name of the route's backend; null if the route has none
 * @param door {@code compiled} or {@code general}
 * @param why the reason why the route is not compiled; null if it is compiled
 * @param rateLimit the quota of the route's callers; null if it has none
 * @param hedge the conditions of a hedge; null if it has none
 */
public record RouteState(
        String id,
        @Nullable String backend,
        String door,
        @Nullable String why,
        @Nullable RateLimitState rateLimit,
        @Nullable HedgeState hedge) {

    /**
     * The conditions of a hedge.
     *
     * @param afterMs the time without an answer after which a call is sent a second time; null: not known yet
     * @param enforced whether it is sent, and not only counted
     */
    public record HedgeState(@Nullable Double afterMs, boolean enforced) {

        private static final double NANOS_PER_MILLI = 1e6;

        static @Nullable HedgeState of(@Nullable HedgePolicy policy) {
            if (policy == null) {
                return null;
            }
            long nanos = policy.afterNanos();
            return new HedgeState(nanos == HedgePolicy.UNKNOWN ? null : nanos / NANOS_PER_MILLI, policy.isEnforced());
        }
    }

    /**
     * A rate limit.
     *
     * @param key the part of a request that determines its caller
     * @param permits requests for each period
     * @param periodSeconds the period
     * @param burst requests that are allowed at once
     * @param enforced whether requests over the quota are refused
     * @param keys the keys that are remembered
     * @param maxKeys the limit of the keys
     * @param forgottenKeys keys that were forgotten because of the limit, since the start
     */
    public record RateLimitState(
            String key,
            int permits,
            double periodSeconds,
            int burst,
            boolean enforced,
            long keys,
            int maxKeys,
            long forgottenKeys) {

        static @Nullable RateLimitState of(@Nullable RateLimiter limiter) {
            if (limiter == null) {
                return null;
            }
            RateLimitProperties properties = limiter.properties();
            return new RateLimitState(
                    properties.key(),
                    properties.permits(),
                    properties.period().toMillis() / 1e3,
                    properties.burstOrDefault(),
                    properties.enforce(),
                    limiter.keys(),
                    properties.maxKeys(),
                    limiter.forgottenKeys());
        }
    }

    static RouteState of(RouteView route) {
        return new RouteState(
                route.id(),
                route.backend(),
                route.door(),
                route.why(),
                RateLimitState.of(route.rateLimiter()),
                HedgeState.of(route.hedge()));
    }
}
