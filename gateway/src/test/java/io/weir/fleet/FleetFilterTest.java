package io.weir.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.management.ConfigurationState;
import io.weir.management.ManagementCaller;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import org.springframework.web.server.WebFilterChain;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.resources.LoopResources;

class FleetFilterTest {

    private static final byte[] ID = {1, 2};
    private static final String CHANGE = "/actuator/weir/orders";

    private final LoopResources loops = LoopResources.create("fleet-test", 1, true);
    private final Peers peers = new Peers(loops, new PeerTls(() -> null), () -> 1, null);
    /** The requests that reach the endpoint: method, URI and body. */
    private final List<String> local = new ArrayList<>();

    @AfterEach
    void close() {
        loops.dispose();
    }

    private FleetFilter filter(boolean isEnabled) {
        Fleet fleet = new Fleet(
                ID,
                isEnabled,
                () -> Members.ALONE,
                () -> new GatewaySummary("", "", "serving", ConfigurationState.UNKNOWN, List.of()),
                peers);
        return new FleetFilter(fleet, "/actuator", UnaryOperator.identity());
    }

    /** An endpoint that answers with a status and a body. */
    private WebFilterChain endpoint(HttpStatus status, String answer) {
        return exchange -> {
            ServerHttpRequest request = exchange.getRequest();
            ServerHttpResponse response = exchange.getResponse();
            return DataBufferUtils.join(request.getBody())
                    .map(body -> body.toString(StandardCharsets.UTF_8))
                    .defaultIfEmpty("")
                    .flatMap(body -> {
                        local.add(request.getMethod() + " " + request.getURI() + ' ' + body);
                        response.setStatusCode(status);
                        response.getHeaders().setContentType(MediaType.TEXT_PLAIN);
                        response.getHeaders().setContentLength(answer.length());
                        return response.writeWith(
                                Mono.just(response.bufferFactory().wrap(answer.getBytes(StandardCharsets.UTF_8))));
                    });
        };
    }

    private static MockServerWebExchange exchange(HttpMethod method, String uri, String body) {
        return MockServerWebExchange.from(
                MockServerHttpRequest.method(method, uri).body(body));
    }

    private static String answer(MockServerWebExchange exchange) {
        int status =
                Objects.requireNonNull(exchange.getResponse().getStatusCode()).value();
        return status + " " + exchange.getResponse().getBodyAsString().block();
    }

    @Test
    void appliesTheChangeHereWithItsBodyAndWithoutTheParameter() {
        MockServerWebExchange exchange = exchange(HttpMethod.POST, CHANGE + "?fleet=true", "{\"breaker\":\"open\"}");

        filter(true).filter(exchange, endpoint(HttpStatus.OK, "changed")).block();

        assertThat(local).containsExactly("POST " + CHANGE + " {\"breaker\":\"open\"}");
        assertThat(answer(exchange)).isEqualTo("200 {\"status\":200,\"gateways\":[{\"self\":true,\"status\":200}]}");
        assertThat(exchange.getResponse().getHeaders().getContentType()).isEqualTo(MediaType.APPLICATION_JSON);
        assertThat(exchange.getResponse().getHeaders().getContentLength()).isNotEqualTo("changed".length());
    }

    @Test
    void passesARefusalOfThisGatewayThroughUnchanged() {
        MockServerWebExchange exchange = exchange(HttpMethod.POST, CHANGE + "?fleet=true", "");

        filter(true)
                .filter(exchange, endpoint(HttpStatus.CONFLICT, "the last instance"))
                .block();

        assertThat(answer(exchange)).isEqualTo("409 the last instance");
        assertThat(exchange.getResponse().getHeaders().getContentType()).isEqualTo(MediaType.TEXT_PLAIN);
    }

    @ParameterizedTest
    @CsvSource({"POST, " + CHANGE, "POST, " + CHANGE + "?breaker=open", "GET, " + CHANGE + "?fleet=true", "HEAD, /x"})
    void leavesOtherRequestsAlone(String method, String uri) {
        MockServerWebExchange exchange = exchange(HttpMethod.valueOf(method), uri, "");

        filter(true).filter(exchange, endpoint(HttpStatus.OK, "done")).block();

        assertThat(local).containsExactly(method + ' ' + uri + ' ');
        assertThat(answer(exchange)).isEqualTo("200 done");
    }

    @Test
    void appliesAChangeHereOnlyIfTheParameterSaysSo() {
        MockServerWebExchange exchange = exchange(HttpMethod.POST, CHANGE + "?fleet=false", "x");

        filter(true).filter(exchange, endpoint(HttpStatus.OK, "done")).block();

        assertThat(local).containsExactly("POST " + CHANGE + " x");
        assertThat(answer(exchange)).isEqualTo("200 done");
    }

    /** The query is not passed on. */
    @ParameterizedTest
    @ValueSource(strings = {"fleet=yes", "fleet", "fleet=true&fleet=true", "fleet=true&breaker=open"})
    void refusesOtherValuesAndAQueryThatTheOthersWouldNotGet(String query) {
        MockServerWebExchange exchange = exchange(HttpMethod.POST, CHANGE + '?' + query, "");

        filter(true).filter(exchange, endpoint(HttpStatus.OK, "done")).block();

        assertThat(local).isEmpty();
        assertThat(answer(exchange)).startsWith("400 ").contains("fleet: wrong value");
    }

    @ParameterizedTest
    @CsvSource({
        "POST, /actuator/loggers/io.weir",
        "POST, /actuator/weir",
        "POST, /actuator/weir/orders/more",
        "DELETE, /actuator/weirfaults/7",
        "DELETE, /actuator/weirreload",
        "PUT, " + CHANGE
    })
    void refusesWhatIsNoChangeOfAllGateways(String method, String path) {
        MockServerWebExchange exchange = exchange(HttpMethod.valueOf(method), path + "?fleet=true", "");

        filter(true).filter(exchange, endpoint(HttpStatus.OK, "done")).block();

        assertThat(local).isEmpty();
        assertThat(answer(exchange)).startsWith("400 ").contains("expected: a change of weir");
    }

    @Test
    void refusesAChangeOfAllGatewaysWhereItIsSwitchedOff() {
        MockServerWebExchange exchange = exchange(HttpMethod.POST, CHANGE + "?fleet=true", "");

        filter(false).filter(exchange, endpoint(HttpStatus.OK, "done")).block();

        assertThat(local).isEmpty();
        assertThat(answer(exchange)).startsWith("403 ").contains("expected: weir.cluster.fleet: true");
    }

    @Test
    void refusesALongBody() {
        MockServerWebExchange exchange = exchange(HttpMethod.POST, CHANGE + "?fleet=true", "x".repeat(65_537));

        filter(true).filter(exchange, endpoint(HttpStatus.OK, "done")).block();

        assertThat(local).isEmpty();
        assertThat(answer(exchange)).startsWith("413 ");
    }

    @Test
    void appliesARequestOfAnotherGatewayHereOnly() {
        MockServerWebExchange exchange = MockServerWebExchange.from(MockServerHttpRequest.post(CHANGE + "?fleet=true")
                .header(ManagementCaller.PASSED_ON_BY, "0304")
                .body("x"));

        filter(true).filter(exchange, endpoint(HttpStatus.OK, "done")).block();

        assertThat(local).containsExactly("POST " + CHANGE + " x");
        assertThat(answer(exchange)).isEqualTo("200 done");
    }

    @Test
    void appliesItsOwnRequestNotAgain() {
        MockServerWebExchange exchange = MockServerWebExchange.from(
                MockServerHttpRequest.post(CHANGE).header(ManagementCaller.PASSED_ON_BY, "0102"));

        filter(true).filter(exchange, endpoint(HttpStatus.OK, "done")).block();

        assertThat(local).isEmpty();
        assertThat(exchange.getResponse().getStatusCode()).isEqualTo(HttpStatus.LOOP_DETECTED);
    }

    /** Half of the gateways would otherwise have the change, and nobody would know which. */
    @Test
    void completesAChangeWhoseCallerLeaves() {
        Sinks.Empty<Void> applied = Sinks.empty();
        List<String> end = new ArrayList<>();
        WebFilterChain slow = exchange ->
                applied.asMono().doOnCancel(() -> end.add("cancelled")).doOnSuccess(nothing -> end.add("applied"));

        Disposable caller = filter(true)
                .filter(exchange(HttpMethod.POST, CHANGE + "?fleet=true", ""), slow)
                .subscribe();
        caller.dispose();
        applied.tryEmitEmpty();

        assertThat(end).containsExactly("applied");
    }

    @Test
    void boundsTheChangesAtOnce() {
        FleetFilter filter = filter(true);
        Sinks.Empty<Void> applied = Sinks.empty();
        List<MockServerWebExchange> exchanges = new ArrayList<>();
        List<Mono<Void>> ends = new ArrayList<>();
        for (int i = 0; i < 9; i++) {
            MockServerWebExchange exchange = exchange(HttpMethod.POST, CHANGE + "?fleet=true", "");
            Sinks.Empty<Void> end = Sinks.empty();
            filter.filter(exchange, any -> applied.asMono())
                    .subscribe(nothing -> {}, end::tryEmitError, end::tryEmitEmpty);
            exchanges.add(exchange);
            ends.add(end.asMono());
        }

        assertThat(answer(exchanges.getLast())).startsWith("503 ");
        applied.tryEmitEmpty();
        ends.forEach(Mono::block);
        assertThat(answer(exchanges.getFirst())).startsWith("200 ");
        MockServerWebExchange next = exchange(HttpMethod.POST, CHANGE + "?fleet=true", "");
        filter.filter(next, endpoint(HttpStatus.OK, "done")).block();
        assertThat(answer(next)).startsWith("200 ");
    }
}
