package io.weir.instance;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
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
 * <p>Confined to the event loop of the backend's connection.
 */
@SuppressWarnings("FutureReturnValueIgnored") // The channel reports the result of a write.
public final class HandshakeHead extends ChannelOutboundHandlerAdapter {

    /** Any host that is valid in a URI. */
    private static final String STAND_IN = "localhost";

    private final String target;
    private final String host;
    private final boolean hasOrigin;

    private HandshakeHead(String target, String host, boolean hasOrigin) {
        this.target = target;
        this.host = host;
        this.hasOrigin = hasOrigin;
    }

    /** Installs a handler for the handshake that is about to be written, and remembers its head. */
    public static void keep(HttpClientRequest head, Channel connection) {
        HttpHeaders headers = head.requestHeaders();
        HandshakeHead kept = new HandshakeHead(
                head.uri(), headers.get(HttpHeaderNames.HOST), headers.contains(HttpHeaderNames.ORIGIN));
        connection.pipeline().addBefore(NettyPipeline.ReactiveBridge, null, kept);
        headers.set(HttpHeaderNames.HOST, STAND_IN);
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        if (!(message instanceof HttpRequest request)) {
            context.write(message, promise);
            return;
        }
        context.pipeline().remove(this);
        HttpHeaders headers = request.headers();
        if (!hasOrigin) {
            headers.remove(HttpHeaderNames.ORIGIN);
        }
        headers.set(HttpHeaderNames.HOST, host);
        context.write(request.setUri(target), promise);
    }
}
