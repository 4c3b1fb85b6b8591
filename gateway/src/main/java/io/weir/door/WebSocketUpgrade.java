package io.weir.door;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.AsciiString;
import io.weir.edge.HopByHop;
import io.weir.edge.RequestId;
import io.weir.edge.Via;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.WebsocketServerSpec;
import reactor.netty.http.websocket.WebsocketInbound;
import reactor.netty.http.websocket.WebsocketOutbound;

/** The caller's side of a WebSocket: its handshake, and the tunnel. */
final class WebSocketUpgrade {

    private static final AsciiString WEBSOCKET_VERSION = AsciiString.cached("13");

    /** The fields of an answer that opens a WebSocket, which the gateway writes itself. */
    private static final AsciiString[] HANDSHAKE = {
        HttpHeaderNames.CONTENT_LENGTH,
        HttpHeaderNames.SEC_WEBSOCKET_ACCEPT,
        HttpHeaderNames.SEC_WEBSOCKET_EXTENSIONS,
        HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL,
        HttpHeaderNames.SEC_WEBSOCKET_VERSION,
    };

    private WebSocketUpgrade() {}

    /**
     * Whether the caller asks for a WebSocket with a complete handshake (RFC 6455, 4.2.1). A request with an
     * incomplete handshake is an ordinary request whose {@code Upgrade} field is dropped: the gateway could
     * open the backend's side, but not the caller's.
     */
    static boolean isAskedFor(InboundRequest inbound) {
        HttpServerRequest request = inbound.request();
        HttpHeaders headers = request.requestHeaders();
        return headers.containsValue(HttpHeaderNames.UPGRADE, HttpHeaderValues.WEBSOCKET, true)
                && headers.containsValue(HttpHeaderNames.CONNECTION, HttpHeaderValues.UPGRADE, true)
                && HttpMethod.GET.equals(request.method())
                && HttpVersion.HTTP_1_1.equals(request.version())
                && headers.contains(HttpHeaderNames.SEC_WEBSOCKET_KEY)
                && headers.contains(HttpHeaderNames.SEC_WEBSOCKET_VERSION, WEBSOCKET_VERSION, false)
                && !inbound.hasBody();
    }

    /**
     * Opens the caller's WebSocket; completes when the tunnel has ended.
     *
     * @param subprotocol the backend's choice; null if there is none
     * @param fromBackend the head of the backend's answer; its fields are passed on, except those of the
     *     handshake itself
     * @param maxFrameBytes the largest frame of the caller that passes
     * @param tunnel passes frames between the caller's two directions and the backend
     */
    static Mono<Void> open(
            InboundRequest inbound,
            @Nullable String subprotocol,
            HttpHeaders fromBackend,
            int maxFrameBytes,
            BiFunction<WebsocketInbound, WebsocketOutbound, Publisher<Void>> tunnel) {
        inbound.becomesTunnel();
        WebsocketServerSpec.Builder spec =
                WebsocketServerSpec.builder().handlePing(true).maxFramePayloadLength(maxFrameBytes);
        if (subprotocol != null) {
            spec.protocols(subprotocol);
            // Netty reads only one of the fields in which the caller may have named the subprotocol.
            inbound.headers().set(HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL, subprotocol);
        }
        writeHead(inbound, fromBackend);
        // Unlike Reactor Netty's publisher, it ends with the tunnel.
        Sinks.Empty<Void> ended = Sinks.empty();
        // Cached: when Reactor Netty cancels it because the caller has closed, the tunnel goes on to its end,
        // so that the backend gets the close frame.
        return inbound.response()
                .sendWebsocket(
                        (in, out) -> Mono.from(tunnel.apply(in, out))
                                .doFinally(signal -> ended.tryEmitEmpty())
                                .cache(),
                        spec.build())
                .then(ended.asMono());
    }

    private static void writeHead(InboundRequest inbound, HttpHeaders fromBackend) {
        HttpHeaders passed = new DefaultHttpHeaders().set(fromBackend);
        HopByHop.strip(passed);
        for (AsciiString name : HANDSHAKE) {
            passed.remove(name);
        }
        Via.append(passed);
        HttpHeaders head = inbound.response().responseHeaders();
        for (String name : passed.names()) {
            if (HttpHeaderNames.SET_COOKIE.contentEqualsIgnoreCase(name)) {
                head.add(name, passed.getAll(name));
            } else if (!head.contains(name)) {
                // The gateway has written the quota, and a filter its fields.
                head.set(name, passed.getAll(name));
            }
        }
        head.set(RequestId.X_REQUEST_ID, inbound.requestId());
    }
}
