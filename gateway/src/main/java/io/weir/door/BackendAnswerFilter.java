package io.weir.door;

import org.springframework.cloud.gateway.filter.GatewayFilterChain;
import org.springframework.cloud.gateway.filter.GlobalFilter;
import org.springframework.cloud.gateway.filter.NettyWriteResponseFilter;
import org.springframework.core.Ordered;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Writes the backend's answer when all filters have seen its head, where NettyWriteResponseFilter writes its own. */
public final class BackendAnswerFilter implements GlobalFilter, Ordered {

    @Override
    public int getOrder() {
        return NettyWriteResponseFilter.WRITE_RESPONSE_FILTER_ORDER;
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, GatewayFilterChain chain) {
        return chain.filter(exchange).then(Mono.defer(() -> {
            GeneralCaller caller = exchange.getAttribute(GeneralCaller.ATTRIBUTE);
            Flux<DataBuffer> body = caller == null ? null : caller.takeBody();
            return body == null ? Mono.empty() : exchange.getResponse().writeWith(body);
        }));
    }
}
