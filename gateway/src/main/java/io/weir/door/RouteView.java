package io.weir.door;

import io.weir.hedge.HedgePolicy;
import io.weir.ratelimit.RateLimiter;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.handler.predicate.PredicateDefinition;
import org.springframework.cloud.gateway.support.NameUtils;

/**
 * A route as the management endpoints show it.
 *
 * @param id the id of Spring Cloud Gateway's route
 * @param backend the name of the route's backend; null if the route has none
 * @param door {@code compiled} or {@code general}
 * @param why the reason why the route is not compiled; null if it is compiled
 * @param rateLimiter the route's rate limit; null if it has none
 * @param hedge the conditions of the route's hedges; null if it has none
 * @param predicates the predicates as configured; empty: the route was made in code
 */
public record RouteView(
        String id,
        @Nullable String backend,
        String door,
        @Nullable String why,
        @Nullable RateLimiter rateLimiter,
        @Nullable HedgePolicy hedge,
        List<Written> predicates) {

    /**
     * A predicate as configured.
     *
     * @param text its name and arguments
     * @param isKnown whether it is one of Spring Cloud Gateway's or the gateway's own, which have no side
     *     effects
     */
    public record Written(String text, boolean isKnown) {

        /** In place of the predicates of a route that was made in code. */
        static final String IN_CODE = "made in code";

        static Written of(PredicateDefinition definition, boolean isKnown) {
            Map<String, String> arguments = definition.getArgs();
            boolean isShort =
                    arguments.keySet().stream().allMatch(key -> key.startsWith(NameUtils.GENERATED_NAME_PREFIX));
            return new Written(
                    definition.getName()
                            + (isShort ? "=" + String.join(",", arguments.values()) : arguments.toString()),
                    isKnown);
        }
    }
}
