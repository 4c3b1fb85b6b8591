package io.weir.door;

import static org.springframework.cloud.gateway.support.ServerWebExchangeUtils.GATEWAY_ROUTE_ATTR;

import io.netty.buffer.Unpooled;
import io.netty.handler.ssl.SslClosedEngineException;
import org.springframework.cloud.gateway.filter.GatewayFilterChain;
import org.springframework.cloud.gateway.filter.GlobalFilter;
import org.springframework.cloud.gateway.filter.NettyWriteResponseFilter;
import org.springframework.cloud.gateway.route.Route;
import org.springframework.core.Ordered;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.http.server.reactive.ServerHttpResponseDecorator;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.channel.AbortedException;

/**
 * Writes the body of the backend's response after the route's filters have processed its head. It runs
 * outside all filters of the route, in the place of NettyWriteResponseFilter. Before the filters run, it
 * records the route, because a filter may fail.
 */
public final class BackendAnswerFilter implements GlobalFilter, Ordered {

    private final GeneralDoor door;

    /** Creates the filter of a door. */
    public BackendAnswerFilter(GeneralDoor door) {
        this.door = door;
    }

    @Override
    public int getOrder() {
        return NettyWriteResponseFilter.WRITE_RESPONSE_FILTER_ORDER;
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, GatewayFilterChain chain) {
        Route route = exchange.getRequiredAttribute(GATEWAY_ROUTE_ATTR);
        ChainRequest request = door.request(exchange);
        request.matched(route.getId());
        InboundRequest inbound = request.inbound();
        inbound.use(request.routes().answers().of(route.getId()));
        // A filter may answer instead of the backend.
        inbound.writeCors();
        return chain.filter(exchange).then(Mono.defer(() -> {
            GeneralCaller caller = exchange.getAttribute(GeneralCaller.ATTRIBUTE);
            if (caller == null) {
                return Mono.empty();
            }
            boolean isComplete = caller.hasCompleteBody();
            Flux<DataBuffer> body = caller.takeBody();
            ServerHttpResponse response = exchange.getResponse();
            if (body == null) {
                HttpStatusCode status = response.getStatusCode();
                // Changes the head of the response to HEAD, and of one with status 304.
                var _ = ResponseCompression.apply(inbound, status == null ? 0 : status.value(), Unpooled.EMPTY_BUFFER);
                return Mono.empty();
            }
            return write(response, isComplete ? body : withHeadAtOnce(body, response));
        }));
    }

    /** Writes a body. A TLS caller who leaves meanwhile aborts the response like any other caller. */
    static Mono<Void> write(ServerHttpResponse response, Flux<DataBuffer> body) {
        return response.writeWith(body)
                // Spring logs it as an error of the gateway, unlike an abort of the caller.
                .onErrorMap(SslClosedEngineException.class, AbortedException::new);
    }

    /**
     * Makes {@code writeWith} write the head at once. By itself {@code writeWith} waits for the first buffer,
     * and Reactor Netty does not write an empty buffer. If a filter has decorated the response, it may treat
     * the first buffer as content; then the head waits for the body.
     */
    private static Flux<DataBuffer> withHeadAtOnce(Flux<DataBuffer> body, ServerHttpResponse response) {
        return response instanceof ServerHttpResponseDecorator && !(response instanceof CompressibleResponse)
                ? body
                : Flux.concat(Mono.fromSupplier(() -> response.bufferFactory().wrap(new byte[0])), body);
    }
}
