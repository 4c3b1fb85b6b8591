package io.weir.fleet;

import io.weir.management.ManagementCaller;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.springframework.core.Ordered;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferLimitException;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.server.PathContainer;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.util.MultiValueMap;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import tools.jackson.databind.json.JsonMapper;

/**
 * Passes a change with {@code ?fleet=true} on to all gateways, after this one has taken it. Runs behind the
 * management guard, which has checked host, origin and token.
 */
final class FleetFilter implements WebFilter, Ordered {

    /** The query parameter that asks for a change of all gateways. */
    static final String PARAMETER = "fleet";

    private static final List<String> TRUE = List.of("true");
    private static final Set<List<String>> VALUES = Set.of(TRUE, List.of("false"));
    private static final int MAX_BODY_BYTES = 64 * 1024;
    private static final Set<HttpMethod> READS = Set.of(HttpMethod.GET, HttpMethod.HEAD);

    private final Fleet fleet;
    private final Map<HttpMethod, List<PathPattern>> changes;

    /**
     * A filter of the management port.
     *
     * @param basePath the base path of the endpoints, such as {@code /actuator}
     * @param pathOf the path of an endpoint below it, by the endpoint's name
     */
    FleetFilter(Fleet fleet, String basePath, UnaryOperator<String> pathOf) {
        this.fleet = fleet;
        PathPattern weir = pattern(basePath + '/' + pathOf.apply("weir") + "/{backend}");
        PathPattern reload = pattern(basePath + '/' + pathOf.apply("weirreload"));
        PathPattern faults = pattern(basePath + '/' + pathOf.apply("weirfaults"));
        String lastGood = basePath + '/' + pathOf.apply("weirlastgood");
        // Not the end of one fault: its number is of one gateway.
        this.changes = Map.of(
                HttpMethod.POST,
                List.of(weir, reload, faults),
                HttpMethod.DELETE,
                List.of(faults, pattern(lastGood), pattern(lastGood + "/{route}")));
    }

    private static PathPattern pattern(String path) {
        return PathPatternParser.defaultInstance.parse(path);
    }

    @Override
    public int getOrder() {
        return HIGHEST_PRECEDENCE + 1;
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        ServerHttpRequest request = exchange.getRequest();
        if (READS.contains(request.getMethod())) {
            return chain.filter(exchange);
        }
        String sender = request.getHeaders().getFirst(ManagementCaller.PASSED_ON_BY);
        if (fleet.isOwn(sender)) {
            exchange.getResponse().setStatusCode(HttpStatus.LOOP_DETECTED);
            return exchange.getResponse().setComplete();
        }
        MultiValueMap<String, String> parameters = request.getQueryParams();
        List<String> asked = parameters.get(PARAMETER);
        if (asked == null) {
            return chain.filter(exchange);
        }
        if (parameters.size() > 1 || !VALUES.contains(asked)) {
            return refuse(
                    exchange,
                    HttpStatus.BAD_REQUEST,
                    "fleet: wrong value, or beside another parameter (expected: true or false, and the change in the"
                            + " body)");
        }
        if (sender != null || !asked.equals(TRUE)) {
            return chain.filter(exchange.mutate().request(withoutQuery(request)).build());
        }
        if (!isChange(request)) {
            return refuse(
                    exchange,
                    HttpStatus.BAD_REQUEST,
                    "fleet: true (expected: a change of weir, weirfaults, weirlastgood or weirreload; the number of a"
                            + " fault is of one gateway)");
        }
        if (!fleet.isEnabled()) {
            return refuse(exchange, HttpStatus.FORBIDDEN, "fleet: true (expected: weir.cluster.fleet: true)");
        }
        return DataBufferUtils.join(request.getBody(), MAX_BODY_BYTES)
                .map(FleetFilter::text)
                .defaultIfEmpty("")
                .flatMap(body -> change(exchange, chain, body))
                .onErrorResume(
                        DataBufferLimitException.class,
                        failure -> refuse(
                                exchange,
                                HttpStatus.CONTENT_TOO_LARGE,
                                "body: too long (expected: at most " + MAX_BODY_BYTES + " bytes)"))
                .onErrorResume(Fleet.BusyException.class, failure -> {
                    exchange.getResponse().getHeaders().set(HttpHeaders.RETRY_AFTER, "1");
                    return refuse(exchange, HttpStatus.SERVICE_UNAVAILABLE, String.valueOf(failure.getMessage()));
                });
    }

    private boolean isChange(ServerHttpRequest request) {
        PathContainer path = request.getPath().pathWithinApplication();
        return changes.getOrDefault(request.getMethod(), List.of()).stream().anyMatch(change -> change.matches(path));
    }

    private Mono<Void> change(ServerWebExchange exchange, WebFilterChain chain, String body) {
        ServerHttpRequest request = exchange.getRequest();
        CapturedResponse response = new CapturedResponse(exchange.getResponse());
        ServerWebExchange local = exchange.mutate()
                .request(withBody(withoutQuery(request), exchange.getResponse(), body))
                .response(response)
                .build();
        Mono<Integer> here = chain.filter(local).then(Mono.fromSupplier(response::status));
        PeerRequest toOthers = PeerRequest.of(request, body, Fleet.CHANGE_TIMEOUT);
        return Mono.deferContextual(context -> {
                    Mono<FleetAnswer> change = fleet.change(toOthers, here, ManagementCaller.of(context))
                            .contextWrite(context);
                    // The change is completed even if the caller leaves.
                    return Mono.fromFuture(change.toFuture(), true);
                })
                .map(Optional::of)
                .defaultIfEmpty(Optional.empty())
                .flatMap(answer -> answer.map(whole -> response.replace(
                                whole.status(), JsonMapper.shared().writeValueAsString(whole)))
                        .orElseGet(response::send));
    }

    private static String text(DataBuffer whole) {
        String text = whole.toString(StandardCharsets.UTF_8);
        DataBufferUtils.release(whole);
        return text;
    }

    /** The endpoints would take the parameter for a member of the body. */
    private static ServerHttpRequest withoutQuery(ServerHttpRequest request) {
        String uri = request.getURI().toString();
        return request.mutate()
                .uri(URI.create(uri.substring(0, uri.indexOf('?'))))
                .build();
    }

    private static ServerHttpRequest withBody(ServerHttpRequest request, ServerHttpResponse response, String body) {
        return new ServerHttpRequestDecorator(request) {
            @Override
            public Flux<DataBuffer> getBody() {
                return body.isEmpty()
                        ? Flux.empty()
                        : Flux.defer(
                                () -> Flux.just(response.bufferFactory().wrap(body.getBytes(StandardCharsets.UTF_8))));
            }
        };
    }

    /** Answers in the form of the endpoints' own refusals. */
    private static Mono<Void> refuse(ServerWebExchange exchange, HttpStatus status, @Nullable String detail) {
        ServerHttpResponse response = exchange.getResponse();
        response.setStatusCode(status);
        response.getHeaders().setContentType(MediaType.APPLICATION_JSON);
        byte[] body = JsonMapper.shared()
                .writeValueAsBytes(Map.of("status", status.value(), "detail", detail == null ? "" : detail));
        return response.writeWith(
                Mono.fromSupplier(() -> response.bufferFactory().wrap(body)));
    }
}
