package io.weir.door;

import org.springframework.cloud.gateway.config.GlobalCorsProperties;
import org.springframework.cloud.gateway.handler.FilteringWebHandler;
import org.springframework.cloud.gateway.handler.RoutePredicateHandlerMapping;
import org.springframework.cloud.gateway.route.Route;
import org.springframework.core.env.Environment;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/** Spring Cloud Gateway's search for a route, among those that were in force when the request came in. */
public final class RoutesOfVisit extends RoutePredicateHandlerMapping {

    private final GeneralDoor door;

    /** The search among a visit's routes. */
    public RoutesOfVisit(
            GeneralDoor door,
            FilteringWebHandler handler,
            LiveRoutes routes,
            GlobalCorsProperties cors,
            Environment environment) {
        super(handler, routes, cors, environment);
        this.door = door;
    }

    @Override
    protected Mono<Route> lookupRoute(ServerWebExchange exchange) {
        GeneralDoor.Visit visit = door.visitOrNull(exchange);
        if (visit == null) {
            // The management port asks all handlers of the gateway too.
            return Mono.empty();
        }
        Routes routes = visit.routes();
        return routes.general()
                .draw(exchange)
                .then(Mono.defer(() -> super.lookupRoute(exchange)))
                .contextWrite(context -> context.put(Routes.class, routes));
    }
}
