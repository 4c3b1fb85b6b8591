package io.weir.door;

import java.util.List;
import org.springframework.cloud.gateway.filter.WeightCalculatorWebFilter;
import org.springframework.cloud.gateway.route.Route;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Spring Cloud Gateway's own routes, as it matches them itself.
 *
 * @param routes the routes, in the order in which they are tried
 * @param weights the weights of those that share a group; Spring Cloud Gateway's own never forget a route that is gone, and
 *     would choose it
 */
public record GeneralRoutes(List<Route> routes, WeightCalculatorWebFilter weights) {

    /** Draws lots among the routes of each group, for a request. */
    Mono<Void> draw(ServerWebExchange exchange) {
        return weights.filter(exchange, ignored -> Mono.empty());
    }
}
