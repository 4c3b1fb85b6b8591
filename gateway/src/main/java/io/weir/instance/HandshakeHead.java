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
 * Lets the head of a WebSocket's handshake go to the backend as the gateway has made it.
 *
 * <p>Reactor Netty's client makes a URI of its host and its target, and of that, with Netty, both of them anew, and an origin where the caller has sent none, although an origin is
 * what a browser vouches for. It passes no option of Netty's on that would keep it from that. With a host that no URI can have, such as {@code a_b.example}, it fails, as if
 * that were the backend's doing. What leaves here is an HTTP/1.1 request in any case; over HTTP/2, Reactor Netty makes an extended CONNECT of it (RFC 8441).
 *
 * <p>Confined to the event loop of the backend's connection.
 */
@SuppressWarnings("FutureReturnValueIgnored") // What becomes of a write, the channel tells.
public final class HandshakeHead extends ChannelOutboundHandlerAdapter {

    /** A host that a URI can have. */
    private static final String STAND_IN = "localhost";

    private final String target;
    private final String host;
    private final boolean hasOrigin;

    private HandshakeHead(String target, String host, boolean hasOrigin) {
        this.target = target;
        this.host = host;
        this.hasOrigin = hasOrigin;
    }

    /** Keeps the head of the handshake that is about to be written. */
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
