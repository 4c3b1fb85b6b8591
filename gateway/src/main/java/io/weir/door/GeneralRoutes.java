package io.weir.door;

import java.util.List;
import org.springframework.cloud.gateway.filter.WeightCalculatorWebFilter;
import org.springframework.cloud.gateway.route.Route;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Spring Cloud Gateway's own routes, for its own match.
 *
 * @param routes the routes, in the order of the match
 * @param weights the weights within route groups, for these routes only: Spring Cloud Gateway's own bean
 *     keeps removed routes, and would choose them
 */
public record GeneralRoutes(List<Route> routes, WeightCalculatorWebFilter weights) {

    /** Chooses one route of each weighted group at random, for a request. */
    Mono<Void> chooseWeighted(ServerWebExchange exchange) {
        return weights.filter(exchange, ignored -> Mono.empty());
    }
}
