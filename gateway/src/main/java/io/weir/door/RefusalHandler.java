package io.weir.door;

import io.netty.buffer.ByteBuf;
import io.weir.engine.Exchange;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import io.weir.outcome.ThrottledLog;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.support.NotFoundException;
import org.springframework.core.Ordered;
import org.springframework.core.io.buffer.NettyDataBufferFactory;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.ErrorResponse;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebExceptionHandler;
import reactor.core.publisher.Mono;

/**
 * Answers failures of Spring Cloud Gateway's chain with the gateway's reasons: the engine's refusals, and
 * exceptions of filters.
 */
public final class RefusalHandler implements WebExceptionHandler, Ordered {

    private static final ThrottledLog log = ThrottledLog.of(RefusalHandler.class);

    private final GeneralDoor door;

    /** Creates the handler of a door. */
    public RefusalHandler(GeneralDoor door) {
        this.door = door;
    }

    @Override
    public int getOrder() {
        // Before Spring Boot's handler, which would answer in its own form.
        return Ordered.HIGHEST_PRECEDENCE;
    }

    @Override
    public Mono<Void> handle(ServerWebExchange web, Throwable failure) {
        ChainRequest request = door.requestOrNull(web);
        if (request == null) {
            // A request of the management port: its context inherits this handler.
            return Mono.error(failure);
        }
        ServerHttpResponse response = web.getResponse();
        GeneralCaller caller = request.caller();
        if (failure instanceof TunnelClosedException) {
            return Mono.empty();
        }
        if (response.isCommitted()) {
            return Mono.error(failure);
        }
        if (failure instanceof RefusalException refused) {
            if (caller == null) {
                door.reportRefusal(request, refused.refusal());
            }
            return write(web, request, refused.refusal());
        }
        Refusal refusal = refusal(failure);
        if (refusal == null) {
            // A filter chose this status deliberately, such as 429 of a rate limiter or 401 of an
            // authorisation.
            return Mono.error(failure);
        }
        if (refusal.reason() == Reason.INTERNAL_ERROR) {
            log.error(
                    request.inbound().channel().eventLoop().ticker().nanoTime(),
                    web.getRequest().getMethod() + " " + request.inbound().requestPath() + " failed in a filter",
                    failure);
        }
        if (caller == null) {
            door.reportRefusal(request, refusal);
        } else {
            Exchange exchange = caller.exchange;
            exchange.abandoned(refusal.reason());
        }
        return write(web, request, refusal);
    }

    private static @Nullable Refusal refusal(Throwable failure) {
        if (failure instanceof NotFoundException) {
            return Refusal.of(Reason.CONNECT_FAILED, failure.getMessage());
        }
        if (failure instanceof ErrorResponse chosen) {
            return switch (chosen.getStatusCode().value()) {
                case 400 -> Refusal.of(Reason.BAD_REQUEST, null);
                case 404 -> Refusal.of(Reason.NO_ROUTE, null);
                case 413 -> Refusal.of(Reason.PAYLOAD_TOO_LARGE, null);
                case 500 -> Refusal.of(Reason.INTERNAL_ERROR, null);
                default -> null;
            };
        }
        return Refusal.of(Reason.INTERNAL_ERROR, null);
    }

    private static Mono<Void> write(ServerWebExchange web, ChainRequest request, Refusal refusal) {
        InboundRequest inbound = request.inbound();
        GeneralCaller caller = request.caller();
        ServerHttpResponse response = web.getResponse();
        // The filters' fields belong to a response that is not sent.
        response.getHeaders().clear();
        ByteBuf body = RefusalResponse.write(inbound, refusal);
        if (caller != null) {
            caller.writeQuota();
        }
        response.setRawStatusCode(inbound.response().status().code());
        NettyDataBufferFactory buffers = (NettyDataBufferFactory) response.bufferFactory();
        return response.writeWith(Mono.just(buffers.wrap(body)));
    }
}
