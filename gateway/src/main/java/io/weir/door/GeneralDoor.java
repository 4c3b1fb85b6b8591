package io.weir.door;

import io.netty.util.AttributeKey;
import io.weir.engine.Exchange;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.netty.channel.ChannelOperations;
import reactor.netty.http.server.HttpServerRequest;

/**
 * Follows a request through Spring Cloud Gateway's filter chain: the filters find its {@link ChainRequest} by
 * Spring's exchange, and its engine exchange learns how the chain has ended.
 */
public final class GeneralDoor {

    private static final AttributeKey<@Nullable ChainRequest> REQUEST =
            AttributeKey.valueOf(GeneralDoor.class, "request");

    private static final String ATTRIBUTE = ChainRequest.class.getName();

    private final boolean serverTiming;
    private final DoorListener listener;
    private final LongSupplier nanoClock;
    private final AtomicInteger inChain = new AtomicInteger();

    /**
     * Creates the door.
     *
     * @param serverTiming whether responses carry {@code Server-Timing}
     * @param listener receives requests that have no exchange
     * @param nanoClock the engine's clock
     */
    public GeneralDoor(boolean serverTiming, DoorListener listener, LongSupplier nanoClock) {
        this.serverTiming = serverTiming;
        this.listener = listener;
        this.nanoClock = nanoClock;
    }

    boolean serverTiming() {
        return serverTiming;
    }

    /**
     * The number of requests in the filter chain that have no exchange, such as those of unprotected routes.
     */
    public int inChain() {
        return inChain.get();
    }

    /**
     * A request for the filter chain.
     *
     * @param draw the request's choices in weighted groups; null: there are none
     */
    ChainRequest request(
            InboundRequest inbound, Routes routes, WeightedGroups.@Nullable Draw draw, long arrivedAtNanos) {
        return new ChainRequest(inbound, routes, draw, arrivedAtNanos, inChain);
    }

    /** The request of Spring's exchange. */
    ChainRequest request(ServerWebExchange exchange) {
        ChainRequest request = requestOrNull(exchange);
        if (request == null) {
            throw new IllegalStateException(
                    "exchange: without a request (expected: one that the front door has passed on)");
        }
        return request;
    }

    /** The request of Spring's exchange; null if the request did not pass the front door. */
    @Nullable
    ChainRequest requestOrNull(ServerWebExchange exchange) {
        ChainRequest known = exchange.getAttribute(ATTRIBUTE);
        if (known != null) {
            return known;
        }
        HttpServerRequest request = ServerHttpRequestDecorator.getNativeRequest(exchange.getRequest());
        ChainRequest found =
                ((ChannelOperations<?, ?>) request).channel().attr(REQUEST).get();
        if (found != null) {
            // Keeps the request: Reactor Netty's request loses its connection when the caller leaves.
            exchange.getAttributes().put(ATTRIBUTE, found);
        }
        return found;
    }

    /** Runs the filter chain for a request. */
    Mono<Void> runChain(ChainRequest request, Mono<Void> chain) {
        request.inbound().channel().attr(REQUEST).set(request);
        return new Mono<>() {
            @Override
            public void subscribe(CoreSubscriber<? super Void> actual) {
                request.enterChain();
                chain.subscribe(new ChainSubscriber(request, actual, GeneralDoor.this));
            }
        };
    }

    /** Reports the refusal of a request that has no exchange. */
    void reportRefusal(ChainRequest request, Refusal refusal) {
        request.markReported();
        String routeId = request.routeId();
        if (routeId == null && refusal.reason() == Reason.NO_ROUTE) {
            RouteExplainer.logNoRoute(request.inbound(), request.routes(), request.draw());
        }
        if (routeId == null || refusal.reason() == Reason.NO_ROUTE) {
            listener.refused(refusal, request.inbound());
        } else {
            listener.failed(routeId, refusal, nanosSinceArrival(request), request.inbound());
        }
    }

    /** Reports a request that Spring Cloud Gateway has answered, unless it is reported already. */
    private void reportAnswer(ChainRequest request) {
        if (request.markReported()) {
            return;
        }
        String routeId = request.routeId() == null ? FrontDoor.NONE : request.routeId();
        int status = request.inbound().response().status().code();
        listener.answered(routeId, status, nanosSinceArrival(request), request.inbound());
    }

    /**
     * Reports a caller that has left while a filter or an unprotected route's backend was handling its
     * request.
     */
    private void reportCallerLeft(ChainRequest request) {
        if (!request.isReported() && !request.inbound().channel().isActive()) {
            reportRefusal(request, Refusal.of(Reason.CLIENT_CLOSED, null));
        }
    }

    private long nanosSinceArrival(ChainRequest request) {
        return nanoClock.getAsLong() - request.arrivedAtNanos();
    }

    /**
     * Passes the end of the chain, and a cancel by the caller, on to the request's exchange if there is one.
     */
    private static final class ChainSubscriber implements CoreSubscriber<Void>, Subscription {

        private final ChainRequest request;
        private final CoreSubscriber<? super Void> actual;
        private final GeneralDoor door;
        private @Nullable Subscription upstream;

        ChainSubscriber(ChainRequest request, CoreSubscriber<? super Void> actual, GeneralDoor door) {
            this.request = request;
            this.actual = actual;
            this.door = door;
        }

        @Override
        public void onSubscribe(Subscription s) {
            if (Operators.validate(upstream, s)) {
                upstream = s;
                actual.onSubscribe(this);
            }
        }

        @Override
        public void onNext(Void nothing) {}

        @Override
        public void onComplete() {
            boolean wasPresent = ResponseEnd.isCallerPresent(request.inbound().channel());
            actual.onComplete();
            chainEnded(wasPresent, null);
        }

        @Override
        public void onError(Throwable failure) {
            boolean wasPresent = request.inbound().channel().isActive();
            actual.onError(failure);
            chainEnded(wasPresent, Reason.INTERNAL_ERROR);
        }

        @Override
        public void request(long n) {
            Subscription s = upstream;
            if (s != null) {
                s.request(n);
            }
        }

        @Override
        public void cancel() {
            Subscription s = upstream;
            if (s != null) {
                s.cancel();
            }
            request.leaveChain();
            if (request.cancelWithoutExchange()) {
                door.reportCallerLeft(request);
                return;
            }
            GeneralCaller caller = request.caller();
            if (caller != null) {
                if (!request.inbound().isTunnel()) {
                    caller.exchange.callerLeft();
                }
                caller.releaseUnwrittenBody();
            }
        }

        /** The chain has ended; {@code failure} is null if it has completed. */
        private void chainEnded(boolean wasPresent, @Nullable Reason failure) {
            request.leaveChain();
            // A kept-alive connection would keep the request in memory. It may belong to the next request
            // already.
            request.inbound().channel().attr(REQUEST).compareAndSet(request, null);
            GeneralCaller caller = request.caller();
            if (caller == null) {
                door.reportAnswer(request);
                ResponseEnd.limitReadTime(request.inbound());
                return;
            }
            caller.releaseUnwrittenBody();
            Exchange exchange = caller.exchange;
            if (failure == null
                    && !wasPresent
                    && exchange.isUnderWay()
                    && !request.inbound().isTunnel()) {
                // WebFlux completes the chain when the caller leaves while the response is written.
                exchange.callerLeft();
            } else if (failure != null || exchange.isUnderWay()) {
                exchange.abandoned(failure);
            } else {
                ResponseEnd.reportFlush(request.inbound(), exchange, wasPresent);
            }
        }
    }
}
