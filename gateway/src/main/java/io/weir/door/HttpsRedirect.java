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
 * <p>A request that a trusted proxy has received over https is refused with 421: the proxy ends TLS, and
 * would send the repeated request to this port again, for ever. 421 says that this port does not serve https
 * (RFC 9110, section 15.5.20); a 400 would blame the caller.
 *
 * <p>Caches keep the redirect for an hour, not for ever as the status allows: a wrong
 * {@code redirect-to-port} can be corrected. {@code Strict-Transport-Security} is the means to keep browsers
 * on https.
 *
 * <p>Each response is the last one of its connection, since the caller goes on at another port.
 */
public final class HttpsRedirect implements BiFunction<HttpServerRequest, HttpServerResponse, Publisher<Void>> {

    private static final String HTTPS = "https";
    private static final String LOOP = "https ended at a proxy, and this port redirects to https (expected: a proxy"
            + " that ends TLS sends requests to the port of the gateway itself)";
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
            return refuse(malformed(e.getMessage()), inbound(in, out, InboundRequest.UNREADABLE));
        }
        InboundRequest inbound = inbound(in, out, target);
        String authority = inbound.host();
        if (authority == null) {
            return refuse(malformed("host: missing (expected: one)"), inbound);
        }
        if (!Authority.isValid(authority)) {
            return refuse(malformed("host: malformed (expected: a host, and perhaps a port)"), inbound);
        }
        if (HTTPS.equals(inbound.scheme())) {
            return refuse(Refusal.of(Reason.MISDIRECTED, LOOP), inbound);
        }
        inbound.completeOwnHead(HttpResponseStatus.PERMANENT_REDIRECT);
        HttpHeaders head = out.responseHeaders();
        head.set(HttpHeaderNames.LOCATION, HTTPS + "://" + Authority.host(authority) + port + originForm(in.uri()));
        head.set(HttpHeaderNames.CACHE_CONTROL, ONE_HOUR);
        head.set(HttpHeaderNames.CONTENT_LENGTH, HttpHeaderValues.ZERO);
        listener.answered(FrontDoor.NONE, HttpResponseStatus.PERMANENT_REDIRECT.code(), 0, inbound);
        return out.send().doOnSuccess(nothing -> ResponseEnd.limitReadTime(inbound));
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

    private static Refusal malformed(@Nullable String detail) {
        return Refusal.of(Reason.BAD_REQUEST, detail);
    }

    private Mono<Void> refuse(Refusal refusal, InboundRequest inbound) {
        listener.refused(refusal, inbound);
        return RefusalResponse.send(inbound, refusal);
    }

    private InboundRequest inbound(HttpServerRequest in, HttpServerResponse out, RequestTarget target) {
        return new InboundRequest(
                in,
                out,
                target,
                forwarding,
                null,
                properties.readIdleTimeout().toNanos(),
                properties.securityHeaders());
    }
}
