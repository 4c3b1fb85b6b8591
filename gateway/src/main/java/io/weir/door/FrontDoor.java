package io.weir.door;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AttributeKey;
import io.weir.edge.EdgeProperties;
import io.weir.edge.Forwarding;
import io.weir.edge.RequestTarget;
import io.weir.engine.Engine;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.net.URI;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.http.server.reactive.HttpHandler;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.http.server.reactive.ServerHttpResponseDecorator;
import reactor.core.publisher.Mono;
import reactor.netty.Connection;
import reactor.netty.channel.ChannelOperations;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;

/** The handler that every request comes to first: it normalises the path, finds the route, and opens the door that the route takes. */
public final class FrontDoor implements HttpHandler {

    public static final String COMPILED = "compiled";
    public static final String GENERAL = "general";
    static final String NONE = "none";

    /** Set between this handler and {@link #screen}, which follows it within the same event. */
    private static final AttributeKey<@Nullable Boolean> SEEN = AttributeKey.valueOf(FrontDoor.class, "seen");

    private final HttpHandler webFlux;
    private final Engine engine;
    private final Supplier<Routes> routes;
    private final GeneralDoor generalDoor;
    private final EdgeProperties properties;
    private final Forwarding forwarding;
    private final long readIdleNanos;
    private final EdgeOutcomes outcomes;

    /**
     * The front door.
     *
     * @param webFlux WebFlux's own handler, for what takes the general door
     * @param routes the routes as they are now
     */
    public FrontDoor(
            HttpHandler webFlux,
            Engine engine,
            Supplier<Routes> routes,
            GeneralDoor generalDoor,
            EdgeProperties properties,
            EdgeOutcomes outcomes) {
        this.webFlux = webFlux;
        this.engine = engine;
        this.routes = routes;
        this.generalDoor = generalDoor;
        this.properties = properties;
        this.forwarding = new Forwarding(properties);
        this.readIdleNanos = properties.readIdleTimeout().toNanos();
        this.outcomes = outcomes;
    }

    /**
     * Answers what Spring has refused before it came here: a target that {@link URI} cannot read, which it answers in a shape of its own.
     *
     * @param handled what Spring's adapter made of the request
     * @param connection Reactor Netty's request and response
     */
    public Mono<Void> screen(Mono<Void> handled, Connection connection) {
        if (connection.channel().attr(SEEN).getAndSet(null) != null) {
            return handled;
        }
        HttpServerRequest in = (HttpServerRequest) connection;
        Inbound inbound = inbound(in, (HttpServerResponse) connection, Inbound.UNREADABLE, NONE);
        return refuse(Refusal.of(Reason.BAD_REQUEST, "a target that is no URI (expected: RFC 3986)"), inbound);
    }

    @Override
    public Mono<Void> handle(ServerHttpRequest request, ServerHttpResponse response) {
        long arrivedAt = engine.nanoTime();
        HttpServerRequest in = ServerHttpRequestDecorator.getNativeRequest(request);
        HttpServerResponse out = ServerHttpResponseDecorator.getNativeResponse(response);
        ((ChannelOperations<?, ?>) in).channel().attr(SEEN).set(Boolean.TRUE);
        RequestTarget target;
        try {
            target = RequestTarget.parse(in.uri(), properties.allowEncodedSlashes());
        } catch (IllegalArgumentException e) {
            return refuse(Refusal.of(Reason.BAD_REQUEST, e.getMessage()), inbound(in, out, Inbound.UNREADABLE, NONE));
        }
        if (target.authority() != null) {
            // It wins (RFC 9112, 3.2.2): nobody is to match by one and to ask for the other.
            in.requestHeaders().set(HttpHeaderNames.HOST, target.authority());
        }
        Routes current = routes.get();
        return switch (current.table().match(request, target.path())) {
            case RouteTable.Compiled compiled ->
                new CompiledCaller(
                        engine,
                        compiled.route(),
                        inbound(in, out, target, COMPILED),
                        arrivedAt,
                        properties.serverTiming());
            case RouteTable.Other.GENERAL -> {
                respell(in.requestHeaders());
                Inbound inbound = inbound(in, out, target, GENERAL);
                yield generalDoor.through(
                        new GeneralDoor.Visit(inbound, current, arrivedAt),
                        webFlux.handle(normalised(request, in, target), response));
            }
            case RouteTable.Other.NONE -> refuse(Refusal.of(Reason.NO_ROUTE, null), inbound(in, out, target, NONE));
        };
    }

    /** Gives each field one spelling: of one that comes in several, Spring's copies of a head have all values once for each. */
    private static void respell(HttpHeaders headers) {
        for (String name : headers.names()) {
            List<String> values = headers.getAll(name);
            if (values.size() > 1) {
                headers.set(name, values);
            }
        }
    }

    /** The request with the path that was matched, so that nobody behind matches another. */
    private static ServerHttpRequest normalised(ServerHttpRequest request, HttpServerRequest in, RequestTarget target) {
        if (in.uri().equals(target.pathAndQuery())) {
            return request;
        }
        URI seen = request.getURI();
        return request.mutate()
                .uri(URI.create(seen.getScheme() + "://" + seen.getRawAuthority() + target.pathAndQuery()))
                .build();
    }

    private Inbound inbound(HttpServerRequest in, HttpServerResponse out, RequestTarget target, String door) {
        return new Inbound(in, out, target, forwarding, door, readIdleNanos);
    }

    private Mono<Void> refuse(Refusal refusal, Inbound inbound) {
        outcomes.refused(refusal, inbound);
        ByteBuf body = inbound.writeRefusal(refusal);
        return inbound.response().sendObject(body).then().doOnSuccess(nothing -> inbound.limitTaking());
    }
}
