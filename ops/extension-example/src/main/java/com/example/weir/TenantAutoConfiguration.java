package com.example.weir;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.cloud.gateway.filter.ratelimit.KeyResolver;
import org.springframework.context.annotation.Bean;
import reactor.core.publisher.Mono;

/** The beans of this extension. META-INF/spring names this class, so that the gateway finds it. */
@AutoConfiguration
public class TenantAutoConfiguration {

    @Bean
    TenantHeaderGatewayFilterFactory tenantHeaderGatewayFilterFactory() {
        return new TenantHeaderGatewayFilterFactory();
    }

    @Bean
    TenantRoutePredicateFactory tenantRoutePredicateFactory() {
        return new TenantRoutePredicateFactory();
    }

    /**
     * For Spring Cloud Gateway's filter RequestRateLimiter: {@code key-resolver: "#{@tenantKeyResolver}"}.
     */
    @Bean
    KeyResolver tenantKeyResolver() {
        return exchange -> Mono.justOrEmpty(Tenant.of(exchange.getRequest()));
    }
}
