package io.weir.door;

import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.config.GlobalCorsProperties;
import org.springframework.cloud.gateway.handler.FilteringWebHandler;
import org.springframework.cloud.gateway.handler.RoutePredicateHandlerMapping;
import org.springframework.cloud.gateway.route.Route;
import org.springframework.cloud.gateway.support.ServerWebExchangeUtils;
import org.springframework.core.env.Environment;
import org.springframework.web.cors.reactive.CorsUtils;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebHandler;
import reactor.core.publisher.Mono;

/**
 * Spring Cloud Gateway's search for a route, among the routes that were in force when the request arrived.
 */
public final class WeirRoutePredicateHandlerMapping extends RoutePredicateHandlerMapping {

    private final GeneralDoor door;
    private final boolean hasCors;

    /** Creates the mapping. */
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
     * Answers a CORS preflight request if its route has rules for CORS, and passes any other one on to its
     * backend, unless CORS is configured for all routes. Spring answers a preflight request itself as soon as
     * it has a handler, so the request is handled during the search.
     */
    @Override
    public Mono<Object> getHandler(ServerWebExchange exchange) {
        ChainRequest request = door.requestOrNull(exchange);
        if (hasCors || !CorsUtils.isPreFlightRequest(exchange.getRequest()) || request == null) {
            return super.getHandler(exchange);
        }
        return preflight(exchange, request)
                .switchIfEmpty(Mono.defer(() -> getHandlerInternal(exchange)
                        .cast(WebHandler.class)
                        .switchIfEmpty(Mono.error(() -> new RefusalException(Refusal.of(Reason.NO_ROUTE, null))))
                        .flatMap(handler -> handler.handle(exchange).thenReturn(handler))));
    }

    /** Answers a preflight request; empty if its route has no rules for CORS. */
    private Mono<Object> preflight(ServerWebExchange exchange, ChainRequest request) {
        if (!request.routes().answers().hasCors()) {
            return Mono.empty();
        }
        ServerWebExchange asked = exchange.mutate()
                .request(Preflight.asked(exchange.getRequest()))
                .build();
        return lookupRoute(asked)
                .filter(route -> request.routes().answers().of(route.getId()).cors() != null)
                .flatMap(route ->
                        Preflight.answer(exchange, request, route.getId()).thenReturn(route));
    }

    @Override
    protected Mono<Route> lookupRoute(ServerWebExchange exchange) {
        ChainRequest request = door.requestOrNull(exchange);
        if (request == null) {
            // A request of the management port: its context inherits this mapping.
            return Mono.empty();
        }
        Routes routes = request.routes();
        return Mono.defer(() -> {
                    addWeights(exchange, routes.weights(), request.draw());
                    return super.lookupRoute(exchange);
                })
                .contextWrite(context -> context.put(Routes.class, routes));
    }

    /** Adds the routes that the predicate Weight matches. Routes that were made in code have added theirs. */
    private static void addWeights(
            ServerWebExchange exchange, WeightedGroups weights, WeightedGroups.@Nullable Draw draw) {
        if (draw != null) {
            Map<String, String> known = exchange.getAttribute(ServerWebExchangeUtils.WEIGHT_ATTR);
            Map<String, String> chosen = known == null ? new HashMap<>() : new HashMap<>(known);
            weights.addChosen(draw, chosen);
            exchange.getAttributes().put(ServerWebExchangeUtils.WEIGHT_ATTR, chosen);
        }
    }
}
