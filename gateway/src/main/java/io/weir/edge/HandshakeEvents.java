package io.weir.edge;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.ssl.SniCompletionEvent;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;

/**
 * Records the name that a TLS handshake asks for, and reports how the handshake ends. Removes itself then.
 */
// Concurrency: confined to the connection's event loop.
final class HandshakeEvents extends ChannelInboundHandlerAdapter {

    private final CallerConnection connection;
    private final long openedAtMillis = System.currentTimeMillis();

    HandshakeEvents(CallerConnection connection) {
        this.connection = connection;
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
        if (event instanceof SniCompletionEvent completed) {
            String name = completed.hostname();
            if (name != null) {
                VirtualHosts.requested(context.channel(), name);
            }
        } else if (event instanceof SslHandshakeCompletionEvent handshake) {
            if (handshake.isSuccess()) {
                SslHandler tls = context.pipeline().get(SslHandler.class);
                connection.reportHandshake(Handshake.succeeded(tls.engine(), openedAtMillis));
            } else {
                connection.reportFailedHandshake(handshake.cause());
            }
            context.pipeline().remove(this);
        }
        context.fireUserEventTriggered(event);
    }
}
