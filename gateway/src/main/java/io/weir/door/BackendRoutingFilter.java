package io.weir.door;

import static org.springframework.cloud.gateway.support.ServerWebExchangeUtils.GATEWAY_REQUEST_URL_ATTR;
import static org.springframework.cloud.gateway.support.ServerWebExchangeUtils.GATEWAY_ROUTE_ATTR;
import static org.springframework.cloud.gateway.support.ServerWebExchangeUtils.PRESERVE_HOST_HEADER_ATTRIBUTE;
import static org.springframework.cloud.gateway.support.ServerWebExchangeUtils.isAlreadyRouted;
import static org.springframework.cloud.gateway.support.ServerWebExchangeUtils.setAlreadyRouted;

import io.weir.engine.Engine;
import io.weir.engine.Route;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.net.URI;
import org.springframework.cloud.gateway.filter.GatewayFilterChain;
import org.springframework.cloud.gateway.filter.GlobalFilter;
import org.springframework.core.Ordered;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Hands a request for {@code backend://} to the engine, in place of NettyRoutingFilter; completes at the
 * response's head.
 */
public final class BackendRoutingFilter implements GlobalFilter, Ordered {

    /** The URI scheme of Weir's routes. */
    public static final String SCHEME = "backend";

    private final Engine engine;
    private final GeneralDoor door;

    /** Creates the filter at the end of the chain. */
    public BackendRoutingFilter(Engine engine, GeneralDoor door) {
        this.engine = engine;
        this.door = door;
    }

    @Override
    public int getOrder() {
        return Ordered.LOWEST_PRECEDENCE - 1;
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, GatewayFilterChain chain) {
        URI url = exchange.getRequiredAttribute(GATEWAY_REQUEST_URL_ATTR);
        org.springframework.cloud.gateway.route.Route matched = exchange.getRequiredAttribute(GATEWAY_ROUTE_ATTR);
        if (isAlreadyRouted(exchange)) {
            return chain.filter(exchange);
        }
        if (!SCHEME.equals(url.getScheme())) {
            // An unprotected route has no exchange that checks the drain.
            Refusal refusal = engine.refusalWithoutExchange();
            return refusal == null ? chain.filter(exchange) : Mono.error(new RefusalException(refusal));
        }
        ChainRequest request = door.request(exchange);
        setAlreadyRouted(exchange);
        Route route = request.routes().route(matched.getId());
        if (route == null) {
            return Mono.error(
                    new RefusalException(Refusal.of(Reason.NO_ROUTE, "route " + matched.getId() + " is gone")));
        }
        boolean preservesPath = request.routes().pathPreserving().contains(route.id());
        Refusal refused = request.inbound().refusalBeforeExchange(engine, route, preservesPath);
        if (refused != null) {
            return Mono.error(new RefusalException(refused));
        }
        GeneralCaller caller = new GeneralCaller(
                engine,
                route,
                request,
                exchange,
                exchange.getAttributeOrDefault(PRESERVE_HOST_HEADER_ATTRIBUTE, false),
                preservesPath,
                door.serverTiming());
        if (!request.startExchange(caller)) {
            return Mono.empty();
        }
        exchange.getAttributes().put(GeneralCaller.ATTRIBUTE, caller);
        return caller;
    }
}
