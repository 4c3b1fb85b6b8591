package io.weir.door;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.weir.access.AddressRule;
import io.weir.cors.CorsRule;
import io.weir.engine.Engine;
import io.weir.engine.Route;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * The answers to CORS preflight requests of both doors. They have no exchange: no breaker, permit or quota.
 * Callers that may not use the route by their address get no answer but {@code forbidden}.
 */
final class Preflight {

    private Preflight() {}

    /** The request as the browser will send it: with the method that it asks for. */
    static ServerHttpRequest asked(ServerHttpRequest preflight) {
        HttpMethod requested = preflight.getHeaders().getAccessControlRequestMethod();
        return new ServerHttpRequestDecorator(preflight) {
            @Override
            public HttpMethod getMethod() {
                return requested == null ? super.getMethod() : requested;
            }
        };
    }

    /** The method that the browser will send. */
    static HttpMethod askedMethod(HttpHeaders preflight) {
        return HttpMethod.valueOf(preflight.get(HttpHeaderNames.ACCESS_CONTROL_REQUEST_METHOD));
    }

    /** Answers a request of the compiled door. */
    static Mono<Void> answer(
            CompiledRoute compiled, InboundRequest inbound, DoorListener listener, Engine engine, long arrivedAtNanos) {
        Route route = compiled.route();
        Refusal refusal = check(route, compiled.answers(), inbound);
        long nanos = engine.nanoTime() - arrivedAtNanos;
        if (refusal != null) {
            listener.failed(route.id(), refusal, nanos, inbound);
            return RefusalResponse.send(inbound, refusal);
        }
        listener.answered(route.id(), HttpResponseStatus.NO_CONTENT.code(), nanos, inbound);
        return inbound.response().send().doOnSuccess(nothing -> ResponseEnd.limitReadTime(inbound));
    }

    /** Answers a request of the general door. */
    static Mono<Void> answer(ServerWebExchange exchange, ChainRequest request, String routeId) {
        request.matched(routeId);
        Refusal refusal = check(
                request.routes().route(routeId), request.routes().answers().of(routeId), request.inbound());
        if (refusal != null) {
            return Mono.error(new RefusalException(refusal));
        }
        exchange.getResponse().setStatusCode(HttpStatusCode.valueOf(HttpResponseStatus.NO_CONTENT.code()));
        return exchange.getResponse().setComplete();
    }

    /** Writes the head of the answer; returns the refusal instead, null: none. */
    private static @Nullable Refusal check(@Nullable Route route, AnswerRules rules, InboundRequest inbound) {
        CorsRule cors = rules.cors();
        AddressRule access = route == null ? null : route.access();
        if (cors == null || (access != null && access.refuses(inbound.clientAddress()))) {
            return Refusal.of(Reason.FORBIDDEN, null);
        }
        HttpHeaders head = inbound.response().responseHeaders();
        String whyNot = cors.answerPreflight(inbound.headers(), head);
        if (whyNot != null) {
            return Refusal.of(Reason.FORBIDDEN, whyNot);
        }
        inbound.completeOwnHead(HttpResponseStatus.NO_CONTENT);
        return null;
    }
}
