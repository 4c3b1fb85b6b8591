package io.weir.door;

import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import org.springframework.cloud.gateway.config.GlobalCorsProperties;
import org.springframework.cloud.gateway.handler.FilteringWebHandler;
import org.springframework.cloud.gateway.handler.RoutePredicateHandlerMapping;
import org.springframework.cloud.gateway.route.Route;
import org.springframework.core.env.Environment;
import org.springframework.web.cors.reactive.CorsUtils;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebHandler;
import reactor.core.publisher.Mono;

/** Spring Cloud Gateway's search for a route, among those that were in force when the request came in. */
public final class WeirRoutePredicateHandlerMapping extends RoutePredicateHandlerMapping {

    private final GeneralDoor door;
    private final boolean hasCors;

    /** The search among a visit's routes. */
    public WeirRoutePredicateHandlerMapping(
            GeneralDoor door,
            FilteringWebHandler handler,
            LiveRoutes routes,
            GlobalCorsProperties cors,
            Environment environment) {
        super(handler, routes, cors, environment);
        this.door = door;
        this.hasCors = !cors.getCorsConfigurations().isEmpty();
    }

    /**
     * A preflight request is the backend's to answer, unless CORS is the gateway's business. Spring asks for its handler, and answers itself that
     * there is one: so it is handled while it is asked for.
     */
    @Override
    public Mono<Object> getHandler(ServerWebExchange exchange) {
        if (hasCors || !CorsUtils.isPreFlightRequest(exchange.getRequest()) || door.visitOrNull(exchange) == null) {
            return super.getHandler(exchange);
        }
        return getHandlerInternal(exchange)
                .cast(WebHandler.class)
                .switchIfEmpty(Mono.error(() -> new Refused(Refusal.of(Reason.NO_ROUTE, null))))
                .flatMap(handler -> handler.handle(exchange).thenReturn(handler));
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
