package io.weir.door;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.function.BiConsumer;
import org.springframework.cloud.gateway.filter.GatewayFilterChain;
import org.springframework.cloud.gateway.filter.GlobalFilter;
import org.springframework.core.Ordered;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Writes the caller's address, scheme and host into the request before all other filters, so that a filter of
 * a route can set another value. The compiled door does the same.
 */
public final class ForwardedFieldsFilter implements GlobalFilter, Ordered {

    private final BiConsumer<ServerWebExchange, HttpHeaders> forwarding;

    /** Creates the filter at the beginning of the chain. */
    public ForwardedFieldsFilter(GeneralDoor door) {
        this((exchange, fields) -> door.request(exchange).inbound().writeForwarded(fields));
    }

    /** @param forwarding writes the fields for a request among its others */
    ForwardedFieldsFilter(BiConsumer<ServerWebExchange, HttpHeaders> forwarding) {
        this.forwarding = forwarding;
    }

    @Override
    public int getOrder() {
        return Ordered.HIGHEST_PRECEDENCE;
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, GatewayFilterChain chain) {
        HttpHeaders fields = new DefaultHttpHeaders();
        exchange.getRequest().getHeaders().forEach(fields::set);
        forwarding.accept(exchange, fields);
        ServerHttpRequest written = exchange.getRequest()
                .mutate()
                .headers(head -> {
                    head.clear();
                    for (String name : fields.names()) {
                        head.put(name, fields.getAll(name));
                    }
                })
                .build();
        return chain.filter(exchange.mutate().request(written).build());
    }
}
