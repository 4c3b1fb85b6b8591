package io.weir.instance;

import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2StreamChannel;
import java.util.List;
import reactor.netty.NettyPipeline;
import reactor.netty.http.client.HttpClientRequest;

/**
 * Sends the head of a WebSocket handshake to the backend exactly as the gateway has created it.
 *
 * <p>Reactor Netty's client builds a URI from the host and the target, and Netty derives both from that URI
 * again. They also add an origin if the caller sent none, although only a browser may vouch for an origin.
 * Netty has options against both, which Reactor Netty does not expose. For a host that is not valid in a URI,
 * such as {@code a_b.example}, the request fails as if the backend had failed. This handler restores target,
 * host and origin. It always writes an HTTP/1.1 request; over HTTP/2, Reactor Netty converts it to an
 * extended CONNECT (RFC 8441).
 *
 * <p>It also lets a backend choose none of the caller's subprotocols (RFC 6455, 4.2.2). For Netty's client
 * such an answer is wrong, and it would count as the backend's failure. So this handler names the first
 * subprotocol in place of the backend, and remembers that the backend has chosen none.
 *
 * <p>Confined to the event loop of the backend's connection, except {@link #hasNoSubprotocol()}.
 */
@SuppressWarnings("FutureReturnValueIgnored") // The channel reports the result of a write.
public final class HandshakeHead extends ChannelDuplexHandler {

    /** Any host that is valid in a URI. */
    private static final String STAND_IN = "localhost";

    private final String target;
    private final String host;
    private final boolean hasOrigin;
    private final List<String> subprotocols;
    private volatile boolean hasNoSubprotocol;

    private HandshakeHead(String target, String host, boolean hasOrigin, List<String> subprotocols) {
        this.target = target;
        this.host = host;
        this.hasOrigin = hasOrigin;
        this.subprotocols = subprotocols;
    }

    /**
     * Installs a handler for the handshake that is about to be written, and remembers its head.
     *
     * @param subprotocols the caller's offers
     */
    public static HandshakeHead keep(HttpClientRequest head, Channel connection, List<String> subprotocols) {
        HttpHeaders headers = head.requestHeaders();
        HandshakeHead kept = new HandshakeHead(
                head.uri(), headers.get(HttpHeaderNames.HOST), headers.contains(HttpHeaderNames.ORIGIN), subprotocols);
        connection.pipeline().addBefore(NettyPipeline.ReactiveBridge, null, kept);
        headers.set(HttpHeaderNames.HOST, STAND_IN);
        return kept;
    }

    /** Whether the backend has chosen no subprotocol. Known after the answer's head has arrived. */
    public boolean hasNoSubprotocol() {
        return hasNoSubprotocol;
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        if (!(message instanceof HttpRequest request)) {
            context.write(message, promise);
            return;
        }
        HttpHeaders headers = request.headers();
        if (!hasOrigin) {
            headers.remove(HttpHeaderNames.ORIGIN);
        }
        headers.set(HttpHeaderNames.HOST, host);
        context.write(request.setUri(target), promise);
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (message instanceof HttpResponse answer && opensWebSocket(answer, context.channel())) {
            context.pipeline().remove(this);
            HttpHeaders headers = answer.headers();
            hasNoSubprotocol = !headers.contains(HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL);
            if (hasNoSubprotocol && !subprotocols.isEmpty()) {
                headers.set(HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL, subprotocols.getFirst());
            }
        }
        context.fireChannelRead(message);
    }

    private static boolean opensWebSocket(HttpResponse answer, Channel connection) {
        return connection instanceof Http2StreamChannel
                ? HttpResponseStatus.OK.equals(answer.status()) && !(answer instanceof FullHttpResponse)
                : HttpResponseStatus.SWITCHING_PROTOCOLS.equals(answer.status());
    }
}
