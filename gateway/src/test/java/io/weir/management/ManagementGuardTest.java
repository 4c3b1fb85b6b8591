package io.weir.management;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

class ManagementGuardTest {

    private static final String TOKEN = "0123456789abcdef-\u00e4";

    private final ManagementGuard guard = new ManagementGuard(new ManagementProperties(TOKEN), "/actuator", "health");

    @Test
    void permitsARequestWithTheToken() {
        assertThat(status(guard, "/actuator/weir", "Bearer " + TOKEN)).isNull();
        assertThat(status(guard, "/actuator/weir", "bearer  " + TOKEN + " ")).isNull();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "Bearer",
                "Bearer ",
                "Bearer 0123456789abcdef",
                "Bearer 0123456789abcdef-\u00e4x",
                "Basic 0123456789abcdef-\u00e4",
                "0123456789abcdef-\u00e4",
                "Bearer0123456789abcdef-\u00e4"
            })
    void rejectsAWrongToken(String authorization) {
        assertThat(status(guard, "/actuator/weir", authorization)).isEqualTo(HttpStatus.UNAUTHORIZED);
    }

    @Test
    void rejectsAMissingTokenWithAChallenge() {
        MockServerWebExchange exchange = exchange(HttpMethod.GET, "/actuator/weir", null);

        guard.filter(exchange, passed(exchange)).block();

        assertThat(exchange.getResponse().getStatusCode()).isEqualTo(HttpStatus.UNAUTHORIZED);
        assertThat(exchange.getResponse().getHeaders().getFirst(HttpHeaders.WWW_AUTHENTICATE))
                .isEqualTo("Bearer realm=\"weir management\"");
        assertThat(exchange.getAttributes()).doesNotContainKey("passed");
    }

    @ParameterizedTest
    @ValueSource(strings = {"/actuator/health", "/actuator/health/readiness", "/actuator/health/liveness"})
    void permitsHealthProbesWithoutAToken(String path) {
        assertThat(status(guard, path, null)).isNull();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/",
                "/actuator",
                "/actuator/healthy",
                "/actuator/env",
                "/actuator/weir/health",
                "/health",
                "/actuator/health/../env",
                "/x/actuator/health",
                "/actuator/health/%2e%2e/env/.."
            })
    void requiresATokenForEveryOtherPath(String path) {
        assertThat(status(guard, path, null)).isEqualTo(HttpStatus.UNAUTHORIZED);
    }

    @Test
    void treatsOnlyReadsAsHealthProbes() {
        MockServerWebExchange exchange = exchange(HttpMethod.POST, "/actuator/health", null);

        guard.filter(exchange, passed(exchange)).block();

        assertThat(exchange.getResponse().getStatusCode()).isEqualTo(HttpStatus.UNAUTHORIZED);
    }

    @Test
    void permitsEveryReadIfNoTokenIsConfigured() {
        ManagementGuard open = new ManagementGuard(new ManagementProperties(null), "/actuator", "health");

        assertThat(status(open, "/actuator/weir", null)).isNull();
    }

    @Test
    void putsTheCallersAddressIntoTheContext() {
        MockServerWebExchange exchange = MockServerWebExchange.from(MockServerHttpRequest.get("/actuator/weir")
                .header(HttpHeaders.AUTHORIZATION, "Bearer " + TOKEN)
                .remoteAddress(new InetSocketAddress("192.0.2.7", 4711)));
        String[] caller = new String[1];

        guard.filter(
                        exchange,
                        passed -> Mono.deferContextual(context -> {
                            caller[0] = context.get(ManagementGuard.CALLER);
                            return Mono.empty();
                        }))
                .block();

        assertThat(caller[0]).isEqualTo("192.0.2.7:4711");
    }

    /** The status that the guard answers with; null if it lets the request through. */
    private static @Nullable HttpStatus status(ManagementGuard guard, String path, @Nullable String authorization) {
        MockServerWebExchange exchange = exchange(HttpMethod.GET, path, authorization);
        guard.filter(exchange, passed(exchange)).block();
        boolean passed = exchange.getAttributes().containsKey("passed");
        HttpStatus status = (HttpStatus) exchange.getResponse().getStatusCode();
        assertThat(passed).isEqualTo(status == null);
        return status;
    }

    private static MockServerWebExchange exchange(HttpMethod method, String path, @Nullable String authorization) {
        MockServerHttpRequest.BaseBuilder<?> request = MockServerHttpRequest.method(method, path);
        if (authorization != null) {
            request.header(HttpHeaders.AUTHORIZATION, authorization);
        }
        return MockServerWebExchange.from(request);
    }

    private static WebFilterChain passed(MockServerWebExchange exchange) {
        return same -> {
            exchange.getAttributes().put("passed", true);
            return Mono.empty();
        };
    }
}
