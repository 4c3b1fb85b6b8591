package com.example.weir;

import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import java.util.List;
import org.springframework.cloud.gateway.filter.GatewayFilter;
import org.springframework.cloud.gateway.filter.factory.AbstractGatewayFilterFactory;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.validation.annotation.Validated;

/**
 * The filter {@code TenantHeader=X-Tenant}: tells the backend the tenant in a header field. A value that the
 * caller sends is removed.
 */
public class TenantHeaderGatewayFilterFactory
        extends AbstractGatewayFilterFactory<TenantHeaderGatewayFilterFactory.Config> {

    /** The filter's argument. The check of the configuration validates it too. */
    @Validated
    public static class Config {

        @NotNull
        @Pattern(regexp = "[A-Za-z0-9-]+", message = "must be the name of a header field")
        private String header;

        public String getHeader() {
            return header;
        }

        public void setHeader(String header) {
            this.header = header;
        }
    }

    public TenantHeaderGatewayFilterFactory() {
        super(Config.class);
    }

    @Override
    public List<String> shortcutFieldOrder() {
        return List.of("header");
    }

    @Override
    public GatewayFilter apply(Config config) {
        return (exchange, chain) -> {
            ServerHttpRequest.Builder request = exchange.getRequest().mutate().headers(head -> head.remove(config.getHeader()));
            Tenant.of(exchange.getRequest()).ifPresent(tenant -> request.header(config.getHeader(), tenant));
            return chain.filter(exchange.mutate().request(request.build()).build());
        };
    }
}
