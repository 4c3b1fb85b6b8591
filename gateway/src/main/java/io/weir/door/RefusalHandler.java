package io.weir.door;

import io.netty.buffer.ByteBuf;
import io.weir.engine.Exchange;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.cloud.gateway.support.NotFoundException;
import org.springframework.core.Ordered;
import org.springframework.core.io.buffer.NettyDataBufferFactory;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.ErrorResponse;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebExceptionHandler;
import reactor.core.publisher.Mono;

/**
 * Answers in the vocabulary what fails on the way through Spring Cloud Gateway: the engine's refusals, and what its filters throw.
 */
public final class RefusalHandler implements WebExceptionHandler, Ordered {

    private static final Logger log = LoggerFactory.getLogger(RefusalHandler.class);

    private final GeneralDoor door;

    /** The handler of a door. */
    public RefusalHandler(GeneralDoor door) {
        this.door = door;
    }

    @Override
    public int getOrder() {
        // Before Spring Boot's, which would answer in a shape of its own.
        return Ordered.HIGHEST_PRECEDENCE;
    }

    @Override
    public Mono<Void> handle(ServerWebExchange web, Throwable failure) {
        GeneralDoor.Visit visit = door.visitOrNull(web);
        if (visit == null) {
            // On the management port, whose context has this handler from its parent.
            return Mono.error(failure);
        }
        ServerHttpResponse response = web.getResponse();
        GeneralCaller caller = visit.caller();
        if (failure instanceof TunnelEnded) {
            return Mono.empty();
        }
        if (response.isCommitted()) {
            return Mono.error(failure);
        }
        if (failure instanceof Refused refused) {
            if (caller == null) {
                door.refused(visit, refused.refusal());
            }
            return write(web, visit.inbound(), refused.refusal());
        }
        Refusal refusal = refusal(failure);
        if (refusal == null) {
            // A status that a filter chose, and that is no failure: a limiter's 429, an authorisation's 401.
            return Mono.error(failure);
        }
        if (refusal.reason() == Reason.INTERNAL_ERROR) {
            log.error(
                    "{} {} failed in a filter",
                    web.getRequest().getMethod(),
                    visit.inbound().requestPath(),
                    failure);
        }
        if (caller == null) {
            door.refused(visit, refusal);
        } else {
            Exchange exchange = caller.exchange();
            exchange.abandoned(refusal.reason());
        }
        return write(web, visit.inbound(), refusal);
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

    private static Mono<Void> write(ServerWebExchange web, Inbound inbound, Refusal refusal) {
        ServerHttpResponse response = web.getResponse();
        // What filters have put there belongs to an answer that does not come.
        response.getHeaders().clear();
        ByteBuf body = inbound.writeRefusal(refusal);
        response.setRawStatusCode(inbound.response().status().code());
        NettyDataBufferFactory buffers = (NettyDataBufferFactory) response.bufferFactory();
        return response.writeWith(Mono.just(buffers.wrap(body)));
    }
}
