package io.weir.door;

import io.netty.util.AttributeKey;
import io.weir.engine.Exchange;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
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
 * What spans a request's way through Spring Cloud Gateway: it knows the request when it comes out at the routing filter, and the exchange when
 * the chain ends, in whatever way it ends.
 */
public final class GeneralDoor {

    private static final AttributeKey<@Nullable Visit> VISIT = AttributeKey.valueOf(GeneralDoor.class, "visit");

    private static final String ATTRIBUTE = Visit.class.getName();

    private final boolean serverTiming;
    private final EdgeOutcomes outcomes;
    private final LongSupplier nanoClock;

    /**
     * The door.
     *
     * @param serverTiming whether answers carry {@code Server-Timing}
     * @param outcomes told of requests that have no exchange
     * @param nanoClock the engine's clock
     */
    public GeneralDoor(boolean serverTiming, EdgeOutcomes outcomes, LongSupplier nanoClock) {
        this.serverTiming = serverTiming;
        this.outcomes = outcomes;
        this.nanoClock = nanoClock;
    }

    boolean serverTiming() {
        return serverTiming;
    }

    /** One request's way through the chain. */
    static final class Visit {

        private static final Object GONE = new Object();

        private final Inbound inbound;
        private final Routes routes;
        private final long arrivedAt;
        /** Its exchange's caller, or {@link #GONE}: filters may be on a thread of their own when the caller leaves. */
        private final AtomicReference<@Nullable Object> fate = new AtomicReference<>();

        private @Nullable String route;
        private boolean told;
        private final AtomicBoolean inside = new AtomicBoolean();

        Visit(Inbound inbound, Routes routes, long arrivedAt) {
            this.inbound = inbound;
            this.routes = routes;
            this.arrivedAt = arrivedAt;
        }

        Inbound inbound() {
            return inbound;
        }

        Routes routes() {
            return routes;
        }

        long arrivedAt() {
            return arrivedAt;
        }

        /** It has come to an exchange; false: its caller has left before. */
        boolean began(GeneralCaller caller) {
            return fate.compareAndSet(null, caller);
        }

        /** Its caller leaves; false: there is an exchange, which is to be told. */
        boolean leaves() {
            return fate.compareAndSet(null, GONE);
        }

        /** From here on it needs the routes that it found. */
        void entered() {
            if (inside.compareAndSet(false, true)) {
                routes.visits().begin();
            }
        }

        /** It does not need them any more: there is an exchange, which knows its own, or never will be. */
        void through() {
            if (inside.compareAndSet(true, false)) {
                routes.visits().end();
            }
        }

        @Nullable
        GeneralCaller caller() {
            return fate.get() instanceof GeneralCaller caller ? caller : null;
        }

        /** The route that Spring Cloud Gateway has found, whose filters are next. */
        void matched(String id) {
            route = id;
        }
    }

    /** The visit of a request that is in the chain. */
    Visit visit(ServerWebExchange exchange) {
        Visit visit = visitOrNull(exchange);
        if (visit == null) {
            throw new IllegalStateException("a request that did not come in by the front door");
        }
        return visit;
    }

    /** The same; null for a request that did not come in by the front door. */
    @Nullable
    Visit visitOrNull(ServerWebExchange exchange) {
        Visit known = exchange.getAttribute(ATTRIBUTE);
        if (known != null) {
            return known;
        }
        HttpServerRequest request = ServerHttpRequestDecorator.getNativeRequest(exchange.getRequest());
        Visit found = ((ChannelOperations<?, ?>) request).channel().attr(VISIT).get();
        if (found != null) {
            // Reactor Netty's request forgets its connection when the caller leaves.
            exchange.getAttributes().put(ATTRIBUTE, found);
        }
        return found;
    }

    /** Sees a request through the chain. */
    Mono<Void> through(Visit visit, Mono<Void> chain) {
        visit.inbound().channel().attr(VISIT).set(visit);
        return new Mono<>() {
            @Override
            public void subscribe(CoreSubscriber<? super Void> actual) {
                visit.entered();
                chain.subscribe(new Span(visit, actual, GeneralDoor.this));
            }
        };
    }

    /** A request is refused that has no exchange. */
    void refused(Visit visit, Refusal refusal) {
        visit.told = true;
        String route = visit.route;
        if (route == null || refusal.reason() == Reason.NO_ROUTE) {
            outcomes.refused(refusal, visit.inbound());
        } else {
            outcomes.failed(route, refusal, nanosOf(visit), visit.inbound());
        }
    }

    private void answered(Visit visit) {
        if (!visit.told) {
            visit.told = true;
            String route = visit.route == null ? FrontDoor.NONE : visit.route;
            int status = visit.inbound().response().status().code();
            outcomes.answered(route, status, nanosOf(visit), visit.inbound());
        }
    }

    private long nanosOf(Visit visit) {
        return nanoClock.getAsLong() - visit.arrivedAt();
    }

    /** The caller has left while a filter or an unprotected route's backend had its request. */
    private void left(Visit visit) {
        if (!visit.told && !visit.inbound().channel().isActive()) {
            refused(visit, Refusal.of(Reason.CLIENT_CLOSED, null));
        }
    }

    /** The chain's end and the caller's leaving, told to the exchange if there is one by then. */
    private static final class Span implements CoreSubscriber<Void>, Subscription {

        private final Visit visit;
        private final CoreSubscriber<? super Void> actual;
        private final GeneralDoor door;
        private @Nullable Subscription upstream;

        Span(Visit visit, CoreSubscriber<? super Void> actual, GeneralDoor door) {
            this.door = door;
            this.visit = visit;
            this.actual = actual;
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
            boolean wasActive = visit.inbound().isThere();
            actual.onComplete();
            ended(wasActive, null);
        }

        @Override
        public void onError(Throwable failure) {
            boolean wasActive = visit.inbound().channel().isActive();
            actual.onError(failure);
            ended(wasActive, Reason.INTERNAL_ERROR);
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
            visit.through();
            if (visit.leaves()) {
                door.left(visit);
                return;
            }
            GeneralCaller caller = visit.caller();
            if (caller != null) {
                if (!visit.inbound().isTunnel()) {
                    caller.exchange().callerLeft();
                }
                caller.release();
            }
        }

        private void ended(boolean wasActive, @Nullable Reason why) {
            visit.through();
            // A connection that is kept alive would keep all of it alive; the next request's may stand there already.
            visit.inbound().channel().attr(VISIT).compareAndSet(visit, null);
            GeneralCaller caller = visit.caller();
            if (caller == null) {
                door.answered(visit);
                visit.inbound().limitTaking();
                return;
            }
            caller.release();
            Exchange exchange = caller.exchange();
            if (why == null
                    && !wasActive
                    && exchange.isUnderWay()
                    && !visit.inbound().isTunnel()) {
                // WebFlux makes a silent end of a caller who left while the answer was written.
                exchange.callerLeft();
            } else if (why != null || exchange.isUnderWay()) {
                exchange.abandoned(why);
            } else {
                visit.inbound().awaitFlush(exchange, wasActive);
            }
        }
    }
}
