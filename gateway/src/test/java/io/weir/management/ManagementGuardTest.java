package io.weir.management;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
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

    private static final String READ_ONLY_TOKEN = "read-only-0123456789";
    private static final String ALICES_TOKEN = "alice-0123456789";

    private final ManagementGuard guard = guard(
            new ManagementProperties(TOKEN, READ_ONLY_TOKEN, Map.of("alice", ALICES_TOKEN), List.of("ops.example")));
    private final ManagementGuard open = guard(new ManagementProperties(null, null, Map.of(), List.of()));

    private static ManagementGuard guard(ManagementProperties properties) {
        return new ManagementGuard(properties, "/actuator", "health");
    }

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
        assertThat(status(open, "/actuator/weir", null)).isNull();
    }

    @ParameterizedTest
    @CsvSource({
        TOKEN + ", operator (192.0.2.7:4711)",
        READ_ONLY_TOKEN + ", read-only (192.0.2.7:4711)",
        ALICES_TOKEN + ", alice (192.0.2.7:4711)"
    })
    void putsTheNameOfTheTokensHolderAndTheAddressIntoTheContext(String token, String caller) {
        assertThat(caller(guard, "Bearer " + token)).isEqualTo(caller);
    }

    @Test
    void putsIntoTheContextThatAGatewayHasPassedTheRequestOn() {
        assertThat(caller(guard, "Bearer " + ALICES_TOKEN, "0123"))
                .isEqualTo("alice (192.0.2.7:4711, passed on by a gateway)");
        assertThat(caller(open, "", "0123")).isEqualTo("192.0.2.7:4711, passed on by a gateway");
    }

    /** A gateway that passes a request on has the rights of the token, and no others. */
    @Test
    void givesAGatewayThatPassesARequestOnNoRights() {
        for (String authorization : List.of("", "Bearer wrong", "Bearer " + READ_ONLY_TOKEN)) {
            MockServerWebExchange change = MockServerWebExchange.from(MockServerHttpRequest.post("/actuator/weirreload")
                    .header(HttpHeaders.HOST, "localhost")
                    .header(ManagementCaller.PASSED_ON_BY, "0123")
                    .header(HttpHeaders.AUTHORIZATION, authorization));
            guard.filter(change, passed(change)).block();
            assertThat(change.getAttributes()).as(authorization).doesNotContainKey("passed");
        }
    }

    @Test
    void putsTheAddressIntoTheContextIfThereAreNoTokens() {
        assertThat(caller(open, "Bearer " + TOKEN)).isEqualTo("192.0.2.7:4711");
    }

    @Test
    void permitsReadsAndNoChangesWithTheReadOnlyToken() {
        assertThat(status(guard, "/actuator/weirconfig", "Bearer " + READ_ONLY_TOKEN))
                .isNull();

        MockServerWebExchange change = exchange(HttpMethod.POST, "/actuator/weir/orders", "Bearer " + READ_ONLY_TOKEN);
        guard.filter(change, passed(change)).block();

        assertThat(change.getResponse().getStatusCode()).isEqualTo(HttpStatus.FORBIDDEN);
        assertThat(change.getResponse().getHeaders().getFirst(HttpHeaders.WWW_AUTHENTICATE))
                .isEqualTo("Bearer realm=\"weir management\", error=\"insufficient_scope\"");
        assertThat(change.getResponse().getBodyAsString().block())
                .isEqualTo("{\"status\":403,\"detail\":\"token: read-only (expected: a token that permits changes)\"}");
        assertThat(change.getAttributes()).doesNotContainKey("passed");
    }

    @ParameterizedTest
    @ValueSource(strings = {TOKEN, ALICES_TOKEN})
    void permitsChangesWithEachOperatorsToken(String token) {
        MockServerWebExchange change = exchange(HttpMethod.POST, "/actuator/weir/orders", "Bearer " + token);

        guard.filter(change, passed(change)).block();

        assertThat(change.getAttributes()).containsKey("passed");
    }

    @Test
    void permitsNoChangesIfOnlyAReadOnlyTokenIsConfigured() {
        ManagementGuard readOnly = guard(new ManagementProperties(null, READ_ONLY_TOKEN, Map.of(), List.of()));
        for (String authorization : List.of("", "Bearer " + READ_ONLY_TOKEN)) {
            MockServerWebExchange change = exchange(HttpMethod.POST, "/actuator/weirreload", authorization);
            readOnly.filter(change, passed(change)).block();
            assertThat(change.getAttributes()).doesNotContainKey("passed");
        }
    }

    /** A page that rebinds DNS reads with the name of its own site. */
    @ParameterizedTest
    @ValueSource(strings = {"/actuator/weirconfig", "/actuator/health", "/dashboard"})
    void refusesReadsForAForeignHost(String path) {
        for (ManagementGuard each : List.of(guard, open)) {
            for (HttpMethod method : List.of(HttpMethod.GET, HttpMethod.HEAD, HttpMethod.POST)) {
                MockServerWebExchange exchange = MockServerWebExchange.from(MockServerHttpRequest.method(method, path)
                        .header(HttpHeaders.HOST, "rebound.example:8081")
                        .header(HttpHeaders.AUTHORIZATION, "Bearer " + TOKEN));
                each.filter(exchange, passed(exchange)).block();
                assertThat(exchange.getResponse().getStatusCode()).isEqualTo(HttpStatus.MISDIRECTED_REQUEST);
                assertThat(exchange.getAttributes()).doesNotContainKey("passed");
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"localhost:8081", "10.4.5.6:8081", "ops.example"})
    void permitsReadsForItsOwnHosts(String host) {
        MockServerWebExchange exchange = MockServerWebExchange.from(MockServerHttpRequest.get("/actuator/prometheus")
                .header(HttpHeaders.HOST, host)
                .header(HttpHeaders.AUTHORIZATION, "Bearer " + READ_ONLY_TOKEN));

        guard.filter(exchange, passed(exchange)).block();

        assertThat(exchange.getAttributes()).containsKey("passed");
    }

    /** A load balancer probes with HTTP/1.0, which has no Host. */
    @Test
    void refusesARequestWithoutAHostExceptHealthProbes() {
        for (ManagementGuard each : List.of(guard, open)) {
            for (String path : List.of("/actuator/weirconfig", "/dashboard", "/actuator/health/../weir")) {
                assertThat(withoutHost(each, MockServerHttpRequest.get(path)))
                        .as(path)
                        .isEqualTo(HttpStatus.BAD_REQUEST);
            }
            assertThat(withoutHost(each, MockServerHttpRequest.get("/actuator/health/readiness")))
                    .isNull();
            assertThat(withoutHost(each, MockServerHttpRequest.post("/actuator/health")))
                    .isEqualTo(HttpStatus.BAD_REQUEST);
            assertThat(withoutHost(
                            each, MockServerHttpRequest.get("/actuator/health").header(HttpHeaders.HOST, "")))
                    .isEqualTo(HttpStatus.MISDIRECTED_REQUEST);
        }
    }

    private static @Nullable HttpStatus withoutHost(
            ManagementGuard guard, MockServerHttpRequest.BaseBuilder<?> request) {
        MockServerWebExchange exchange =
                MockServerWebExchange.from(request.header(HttpHeaders.AUTHORIZATION, "Bearer " + TOKEN));
        guard.filter(exchange, passed(exchange)).block();
        assertThat(exchange.getAttributes().containsKey("passed"))
                .isEqualTo(exchange.getResponse().getStatusCode() == null);
        return (HttpStatus) exchange.getResponse().getStatusCode();
    }

    private static String caller(ManagementGuard guard, String authorization, String... passedOnBy) {
        MockServerWebExchange exchange = MockServerWebExchange.from(MockServerHttpRequest.get("/actuator/weir")
                .header(HttpHeaders.HOST, "localhost")
                .header(HttpHeaders.AUTHORIZATION, authorization)
                .header(ManagementCaller.PASSED_ON_BY, passedOnBy)
                .remoteAddress(new InetSocketAddress("192.0.2.7", 4711)));
        String[] caller = new String[1];
        guard.filter(
                        exchange,
                        passed -> Mono.deferContextual(context -> {
                            caller[0] = context.get(ManagementGuard.CALLER);
                            return Mono.empty();
                        }))
                .block();
        return caller[0];
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
        MockServerHttpRequest.BaseBuilder<?> request =
                MockServerHttpRequest.method(method, path).header(HttpHeaders.HOST, "localhost");
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
