package io.weir.door;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.filter.GatewayFilter;
import org.springframework.cloud.gateway.filter.GatewayFilterChain;
import org.springframework.cloud.gateway.filter.factory.AddRequestParameterGatewayFilterFactory;
import org.springframework.cloud.gateway.support.ServerWebExchangeUtils;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.util.UriUtils;
import reactor.core.publisher.Mono;

/**
 * Spring Cloud Gateway's filter AddRequestParameter, with a value that is a text in every query. Spring Cloud
 * Gateway encodes the value only if the received query has no escape: in the other case, a blank in it fails,
 * and brackets of the received query let it encode that query's escapes again.
 */
public final class AddedParameterFilterFactory extends AddRequestParameterGatewayFilterFactory {

    /** The name is not derived from that of this class. */
    @Override
    public String name() {
        return "AddRequestParameter";
    }

    @Override
    public GatewayFilter apply(NameValueConfig config) {
        String name = encoded(String.valueOf(config.getName()));
        return new GatewayFilter() {
            @Override
            public Mono<Void> filter(ServerWebExchange exchange, GatewayFilterChain chain) {
                String value = ServerWebExchangeUtils.expand(exchange, String.valueOf(config.getValue()));
                ServerHttpRequest request = exchange.getRequest();
                ServerHttpRequest extended = request.mutate()
                        .uri(extended(request.getURI(), name + '=' + encoded(value)))
                        .build();
                return chain.filter(exchange.mutate().request(extended).build());
            }

            @Override
            public String toString() {
                return "AddRequestParameter " + config.getName();
            }
        };
    }

    private static URI extended(URI received, String parameter) {
        String text = received.toString();
        String query = received.getRawQuery();
        String path = query == null ? text : text.substring(0, text.indexOf('?'));
        return URI.create(path + '?' + separated(query) + parameter);
    }

    private static String separated(@Nullable String query) {
        if (query == null || query.isEmpty()) {
            return "";
        }
        return query.endsWith("&") ? query : query + '&';
    }

    private static String encoded(String text) {
        return UriUtils.encodeQueryParam(text, StandardCharsets.UTF_8);
    }
}
