package io.weir.door;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.util.NetUtil;
import io.weir.authentication.ReservedFields;
import io.weir.cors.CorsRule;
import io.weir.edge.CallerPeer;
import io.weir.edge.ClientLimits;
import io.weir.edge.EdgeProperties;
import io.weir.edge.Forwarding;
import io.weir.edge.HopByHop;
import io.weir.edge.MaxForwards;
import io.weir.edge.RequestTarget;
import io.weir.edge.VirtualHosts;
import io.weir.engine.Engine;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.net.InetAddress;
import java.net.InetSocketAddress;
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
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;

/**
 * The first handler of every request: it normalises the path, finds the route, and passes the request to the
 * route's door.
 */
public final class FrontDoor implements HttpHandler {

    /** The compiled door in {@link RequestFacts#door}. */
    public static final String COMPILED = "compiled";

    /** The general door in {@link RequestFacts#door}. */
    public static final String GENERAL = "general";

    /** No route was found. */
    static final String NONE = "none";

    private final HttpHandler webFlux;
    private final Engine engine;
    private final Supplier<Routes> routes;
    private final GeneralDoor generalDoor;
    private final EdgeProperties properties;
    private final Forwarding forwarding;
    private final @Nullable PriorityHeader priorityHeader;
    private final long readIdleNanos;
    private final ClientLimits clients;
    private final @Nullable VirtualHosts virtualHosts;
    private final DoorListener listener;

    /**
     * Creates the front door.
     *
     * @param webFlux WebFlux's handler, for requests of the general door
     * @param engine serves the exchanges of the compiled door
     * @param routes supplies the current routes
     * @param generalDoor follows requests through WebFlux's handler
     * @param properties the edge's properties
     * @param clients limits the requests of each client
     * @param virtualHosts the hosts with certificates of their own; null: none
     * @param listener receives requests that have no exchange
     */
    public FrontDoor(
            HttpHandler webFlux,
            Engine engine,
            Supplier<Routes> routes,
            GeneralDoor generalDoor,
            EdgeProperties properties,
            ClientLimits clients,
            @Nullable VirtualHosts virtualHosts,
            DoorListener listener) {
        this.webFlux = webFlux;
        this.engine = engine;
        this.routes = routes;
        this.generalDoor = generalDoor;
        this.properties = properties;
        this.forwarding = new Forwarding(properties);
        this.priorityHeader = PriorityHeader.of(properties, listener);
        this.readIdleNanos = properties.readIdleTimeout().toNanos();
        this.clients = clients;
        this.virtualHosts = virtualHosts;
        this.listener = listener;
    }

    /** Spring Boot's entry; {@link #serve} comes before it. */
    @Override
    public Mono<Void> handle(ServerHttpRequest request, ServerHttpResponse response) {
        return serve(
                ServerHttpRequestDecorator.getNativeRequest(request),
                ServerHttpResponseDecorator.getNativeResponse(response));
    }

    /** Serves a request. */
    public Mono<Void> serve(HttpServerRequest in, HttpServerResponse out) {
        SpringView spring = new SpringView(in, out);
        return isPlain(in) || spring.isPossible() ? serve(in, out, spring) : refuseUnparsableTarget(in, out);
    }

    /** Whether target and host consist of characters that are legal everywhere in a {@link URI}. */
    private static boolean isPlain(HttpServerRequest in) {
        String host = in.requestHeaders().get(HttpHeaderNames.HOST);
        return in.uri().startsWith("/") && host != null && PlainText.isTarget(in.uri()) && PlainText.isHost(host);
    }

    /** Refuses a request whose target {@link URI} cannot parse: no route's filters could read it. */
    private Mono<Void> refuseUnparsableTarget(HttpServerRequest in, HttpServerResponse out) {
        InboundRequest inbound = inbound(in, out, InboundRequest.UNREADABLE);
        if (asksAboutGateway(in)) {
            return answerAsLastRecipient(inbound, engine.nanoTime());
        }
        String detail = "a target that is no URI (expected: RFC 3986)";
        try {
            RequestTarget.parse(in.uri(), properties.allowEncodedSlashes());
        } catch (IllegalArgumentException e) {
            detail = e.getMessage();
        }
        return refuse(Refusal.of(Reason.BAD_REQUEST, detail), inbound);
    }

    private Mono<Void> serve(HttpServerRequest in, HttpServerResponse out, SpringView spring) {
        long arrivedAtNanos = engine.nanoTime();
        if (asksAboutGateway(in)) {
            return answerAsLastRecipient(inbound(in, out, InboundRequest.UNREADABLE), arrivedAtNanos);
        }
        RequestTarget target;
        try {
            target = RequestTarget.parse(in.uri(), properties.allowEncodedSlashes());
        } catch (IllegalArgumentException e) {
            return refuse(Refusal.of(Reason.BAD_REQUEST, e.getMessage()), inbound(in, out, InboundRequest.UNREADABLE));
        }
        if (target.authority() != null) {
            // The target's authority overrides Host (RFC 9112, 3.2.2), for the match and for the backend.
            in.requestHeaders().set(HttpHeaderNames.HOST, target.authority());
        }
        InboundRequest inbound = inbound(in, out, target);
        if (virtualHosts != null && isMisdirected(virtualHosts, inbound)) {
            return refuse(Refusal.of(Reason.MISDIRECTED, null), inbound);
        }
        Refusal overLimit =
                clients.limitsRequests() ? clients.begin(inbound.channel(), forwardedAddress(inbound)) : null;
        return overLimit == null ? route(inbound, spring, arrivedAtNanos) : refuse(overLimit, inbound);
    }

    /** Serves the request by the route that matches it. */
    private Mono<Void> route(InboundRequest inbound, SpringView spring, long arrivedAtNanos) {
        Routes current = routes.get();
        HttpServerRequest in = inbound.request();
        HttpHeaders head = inbound.headers();
        // Before the filters: a caller must not remove the fields that they add.
        HopByHop.stripNamed(head);
        ReservedFields reserved = current.reservedFields();
        if (reserved != null) {
            // Before the match: no predicate, filter or backend sees a forged field.
            reserved.removeFrom(head);
        }
        // Before the match: predicates of both doors see the same field.
        boolean mayBeForwarded = MaxForwards.lower(in.method(), head);
        WeightedGroups.Draw draw =
                current.weights().isEmpty() ? null : new WeightedGroups.Draw(head, inbound::callerNetwork);
        String path = inbound.target().path();
        RouteTable.Match match = current.table().match(methodOf(in), spring, path, draw);
        if (current.answers().hasCors() && CorsRule.isPreflight(in.method(), head)) {
            RouteTable.Match asked = current.table().match(Preflight.askedMethod(head), spring, path, draw);
            if (asked instanceof RouteTable.Compiled(CompiledRoute route)
                    && route.answers().cors() != null) {
                inbound.enter(COMPILED, AnswerRules.NONE, null);
                return Preflight.answer(route, inbound, listener, engine, arrivedAtNanos);
            }
            if (asked == RouteTable.Other.GENERAL) {
                match = asked;
            }
        }
        if (!mayBeForwarded && match != RouteTable.Other.NONE) {
            return answerAsLastRecipient(inbound, arrivedAtNanos);
        }
        return switch (match) {
            case RouteTable.Compiled(CompiledRoute route) -> {
                inbound.enter(COMPILED, route.answers(), reserved);
                Refusal refused = inbound.refusalBeforeExchange(engine, route.route(), route.preservePath());
                yield refused == null
                        ? new CompiledCaller(engine, route, inbound, arrivedAtNanos, properties.serverTiming())
                        : refuse(refused, inbound);
            }
            case RouteTable.Other.GENERAL -> {
                unifySpelling(head);
                inbound.enter(GENERAL, current.answers().ofNone(), reserved);
                ChainRequest chained = generalDoor.request(inbound, current, draw, arrivedAtNanos);
                yield generalDoor.runChain(
                        chained,
                        webFlux.handle(
                                normalise(spring.get(), inbound),
                                current.answers().hasCompression()
                                        ? new CompressibleResponse(spring.response(), chained)
                                        : spring.response()));
            }
            case RouteTable.Other.NONE -> {
                RouteExplainer.logNoRoute(inbound, current, draw);
                yield refuse(Refusal.of(Reason.NO_ROUTE, null), inbound);
            }
        };
    }

    private static org.springframework.http.HttpMethod methodOf(HttpServerRequest in) {
        return org.springframework.http.HttpMethod.valueOf(in.method().name());
    }

    /** Whether a request is about the server and no resource of it (RFC 9110, 9.3.7). */
    private static boolean asksAboutGateway(HttpServerRequest in) {
        return HttpMethod.OPTIONS.equals(in.method()) && in.uri().equals("*");
    }

    /**
     * Answers a request that must not be forwarded. A TRACE is refused: its answer would show the fields that
     * proxies in front of the gateway have added.
     */
    private Mono<Void> answerAsLastRecipient(InboundRequest inbound, long arrivedAtNanos) {
        if (HttpMethod.TRACE.equals(inbound.request().method())) {
            return refuse(Refusal.of(Reason.BAD_REQUEST, "max-forwards: 0 (expected: more, for TRACE)"), inbound);
        }
        inbound.completeOwnHead(HttpResponseStatus.NO_CONTENT);
        listener.answered(NONE, HttpResponseStatus.NO_CONTENT.code(), engine.nanoTime() - arrivedAtNanos, inbound);
        return inbound.response().send().doOnSuccess(nothing -> ResponseEnd.limitReadTime(inbound));
    }

    /** A trusted proxy opens its connections for itself, not for one of the hosts. */
    private boolean isMisdirected(VirtualHosts hosts, InboundRequest inbound) {
        if (!hosts.isMisdirected(inbound.channel(), inbound.headers().get(HttpHeaderNames.HOST))) {
            return false;
        }
        InetSocketAddress peer = CallerPeer.of(inbound.channel());
        return peer == null || !forwarding.isTrusted(peer);
    }

    /**
     * Gives each field name one spelling: Spring's copies of a head repeat all values for each spelling of a
     * name.
     */
    private static void unifySpelling(HttpHeaders headers) {
        for (String name : headers.names()) {
            List<String> values = headers.getAll(name);
            if (values.size() > 1) {
                headers.set(name, values);
            }
        }
    }

    /**
     * The request with the normalised path and the edge's address of the caller, so that later handlers match
     * the same path and address.
     */
    private ServerHttpRequest normalise(ServerHttpRequest request, InboundRequest inbound) {
        String target = inbound.target().pathAndQuery();
        InetSocketAddress caller = reportedCaller(inbound);
        if (caller == null && inbound.request().uri().equals(target)) {
            return request;
        }
        URI seen = request.getURI();
        ServerHttpRequest.Builder normalised =
                request.mutate().uri(URI.create(seen.getScheme() + "://" + seen.getRawAuthority() + target));
        if (caller != null) {
            normalised.remoteAddress(caller);
        }
        return normalised.build();
    }

    /**
     * The caller's address if a trusted proxy reports it, in a field or by the PROXY protocol; null if the
     * caller is the connection's other end.
     */
    private @Nullable InetSocketAddress reportedCaller(InboundRequest inbound) {
        InetAddress forwarded = forwardedAddress(inbound);
        if (forwarded != null) {
            return new InetSocketAddress(forwarded, 0);
        }
        InetSocketAddress peer = CallerPeer.of(inbound.channel());
        return peer == null || peer.equals(inbound.request().connectionRemoteAddress()) ? null : peer;
    }

    /** The caller's address as trusted proxies forward it; null if the caller is the peer. */
    private @Nullable InetAddress forwardedAddress(InboundRequest inbound) {
        InetSocketAddress peer = CallerPeer.of(inbound.channel());
        if (peer == null || !forwarding.isTrusted(peer)) {
            return null;
        }
        InetAddress caller =
                NetUtil.createInetAddressFromIpAddressString(forwarding.callerAddress(inbound.headers(), peer));
        return caller == null || caller.equals(peer.getAddress()) ? null : caller;
    }

    private InboundRequest inbound(HttpServerRequest in, HttpServerResponse out, RequestTarget target) {
        return new InboundRequest(
                in, out, target, forwarding, priorityHeader, readIdleNanos, properties.securityHeaders());
    }

    private Mono<Void> refuse(Refusal refusal, InboundRequest inbound) {
        inbound.useUnlessRouted(routes.get().answers().ofNone());
        listener.refused(refusal, inbound);
        return RefusalResponse.send(inbound, refusal);
    }
}
