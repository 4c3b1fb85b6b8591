package io.weir.door;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.util.AsciiString;
import io.weir.edge.Authority;
import io.weir.edge.EdgeProperties;
import io.weir.edge.Forwarding;
import io.weir.edge.RequestTarget;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;

/**
 * Answers each request of the port without TLS with a redirect to the same target on https.
 *
 * <p>The status is 308: unlike with 301 and 302, clients repeat the method and the body. The location
 * consists of the host of the request, the port of https, and the target as received. The edge's guard has
 * checked the host ({@link Authority}), and {@link RequestTarget} checks the target as on https; so the
 * location holds no user information, control character or second line, and its path begins with a slash
 * behind the host. A request without a host (HTTP/1.0) is refused: there is nothing to redirect to.
 *
 * <p>Caches keep the redirect for an hour, not for ever as the status allows: a wrong
 * {@code redirect-to-port} can be corrected. {@code Strict-Transport-Security} is the means to keep browsers
 * on https.
 *
 * <p>Each response is the last one of its connection, since the caller goes on at another port.
 */
public final class HttpsRedirect implements BiFunction<HttpServerRequest, HttpServerResponse, Publisher<Void>> {

    private static final int HTTPS_PORT = 443;
    private static final AsciiString ONE_HOUR = AsciiString.cached("max-age=3600");

    private final EdgeProperties properties;
    private final Forwarding forwarding;
    private final DoorListener listener;
    private final String port;

    /**
     * A redirect to one port.
     *
     * @param properties the edge's properties
     * @param toPort the port of https that callers use
     * @param listener receives the requests
     */
    public HttpsRedirect(EdgeProperties properties, int toPort, DoorListener listener) {
        this.properties = properties;
        this.forwarding = new Forwarding(properties);
        this.listener = listener;
        this.port = toPort == HTTPS_PORT ? "" : ":" + toPort;
    }

    @Override
    public Publisher<Void> apply(HttpServerRequest in, HttpServerResponse out) {
        out.keepAlive(false);
        RequestTarget target;
        try {
            target = RequestTarget.parse(in.uri(), properties.allowEncodedSlashes());
        } catch (IllegalArgumentException e) {
            return refuse(e.getMessage(), inbound(in, out, InboundRequest.UNREADABLE));
        }
        InboundRequest inbound = inbound(in, out, target);
        String authority = inbound.host();
        if (authority == null) {
            return refuse("host: missing (expected: one)", inbound);
        }
        if (!Authority.isValid(authority)) {
            return refuse("host: malformed (expected: a host, and perhaps a port)", inbound);
        }
        inbound.completeOwnHead(HttpResponseStatus.PERMANENT_REDIRECT);
        HttpHeaders head = out.responseHeaders();
        head.set(HttpHeaderNames.LOCATION, "https://" + Authority.host(authority) + port + originForm(in.uri()));
        head.set(HttpHeaderNames.CACHE_CONTROL, ONE_HOUR);
        head.set(HttpHeaderNames.CONTENT_LENGTH, HttpHeaderValues.ZERO);
        listener.answered(FrontDoor.NONE, HttpResponseStatus.PERMANENT_REDIRECT.code(), 0, inbound);
        return out.send().doOnSuccess(nothing -> inbound.limitReadTime());
    }

    /** The path and query of a target, as received. */
    static String originForm(String target) {
        if (target.startsWith("/")) {
            return target;
        }
        int start = target.indexOf("://") + "://".length();
        while (start < target.length() && target.charAt(start) != '/' && target.charAt(start) != '?') {
            start++;
        }
        String rest = target.substring(start);
        return rest.startsWith("/") ? rest : "/" + rest;
    }

    private Mono<Void> refuse(@Nullable String detail, InboundRequest inbound) {
        Refusal refusal = Refusal.of(Reason.BAD_REQUEST, detail);
        listener.refused(refusal, inbound);
        return inbound.sendRefusal(refusal);
    }

    private InboundRequest inbound(HttpServerRequest in, HttpServerResponse out, RequestTarget target) {
        return new InboundRequest(
                in,
                out,
                target,
                forwarding,
                null,
                FrontDoor.NONE,
                properties.readIdleTimeout().toNanos(),
                properties.securityHeaders());
    }
}
