package io.weir.door;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.springframework.cloud.gateway.filter.GatewayFilterChain;
import org.springframework.cloud.gateway.filter.NettyRoutingFilter;
import org.springframework.core.Ordered;
import org.springframework.http.HttpHeaders;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

class ForwardedFieldsFilterTest {

    private static final String PROTO = "X-Forwarded-Proto";

    /** As the gateway does it: what a caller claims is replaced, or removed. */
    private final ForwardedFieldsFilter filter = new ForwardedFieldsFilter((exchange, fields) ->
            fields.set(PROTO, exchange.getRequest().getURI().getScheme()).remove("X-Real-IP"));

    private static MockServerWebExchange claimingHttps() {
        return MockServerWebExchange.from(MockServerHttpRequest.get("http://shop.example/orders")
                .header(PROTO, "https", "https")
                .header("X-Real-IP", "192.0.2.1")
                .header("Accept", "text/html", "text/plain")
                .header("Empty", ""));
    }

    private HttpHeaders fieldsForOtherFilters(ServerWebExchange exchange) {
        AtomicReference<HttpHeaders> seen = new AtomicReference<>(HttpHeaders.EMPTY);
        GatewayFilterChain chain = next -> {
            seen.set(next.getRequest().getHeaders());
            return Mono.empty();
        };
        StepVerifier.create(filter.filter(exchange, chain)).verifyComplete();
        return seen.get();
    }

    @Test
    void otherFiltersSeeTheFieldsOfTheGateway() {
        HttpHeaders fields = fieldsForOtherFilters(claimingHttps());

        assertThat(fields.get(PROTO)).containsExactly("http");
        assertThat(fields.containsHeader("X-Real-IP")).isFalse();
    }

    @Test
    void keepsTheOtherFields() {
        HttpHeaders fields = fieldsForOtherFilters(claimingHttps());

        assertThat(fields.get("Accept")).containsExactly("text/html", "text/plain");
        assertThat(fields.get("Empty")).containsExactly("");
        assertThat(fields.headerNames()).hasSize(3);
    }

    /** A filter of a route can set another value afterwards. */
    @Test
    void isTheFirstFilter() {
        assertThat(filter.getOrder()).isEqualTo(Ordered.HIGHEST_PRECEDENCE).isLessThan(NettyRoutingFilter.ORDER);
    }

    @Test
    void leavesTheCallersOwnExchangeAsItIs() {
        MockServerWebExchange exchange = claimingHttps();
        fieldsForOtherFilters(exchange);

        assertThat(exchange.getRequest().getHeaders().get(PROTO)).containsExactly("https", "https");
    }
}
