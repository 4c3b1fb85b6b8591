package com.example.weir;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.springframework.http.HttpHeaders;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import reactor.core.publisher.Mono;

class TenantTest {

    private static MockServerWebExchange request(String host) {
        return MockServerWebExchange.from(
                MockServerHttpRequest.get("http://" + host + "/").header("X-Tenant", "chosen by the caller"));
    }

    @Test
    void matchesTheTenantsOfThePredicate() {
        TenantRoutePredicateFactory.Config config = new TenantRoutePredicateFactory.Config();
        config.setTenants(List.of("acme"));

        assertThat(new TenantRoutePredicateFactory().apply(config))
                .accepts(request("acme.example.com"), request("ACME.example.com"))
                .rejects(request("globex.example.com"), request("example.com"));
    }

    @Test
    void replacesTheCallersHeaderByTheTenant() {
        assertThat(headAfterFilter("acme.example.com").get("X-Tenant")).containsExactly("acme");
        assertThat(headAfterFilter("example.com").get("X-Tenant")).isNull();
    }

    private static HttpHeaders headAfterFilter(String host) {
        TenantHeaderGatewayFilterFactory.Config config = new TenantHeaderGatewayFilterFactory.Config();
        config.setHeader("X-Tenant");
        AtomicReference<HttpHeaders> head = new AtomicReference<>();
        new TenantHeaderGatewayFilterFactory()
                .apply(config)
                .filter(request(host), exchange -> {
                    head.set(exchange.getRequest().getHeaders());
                    return Mono.empty();
                })
                .block();
        return head.get();
    }
}
