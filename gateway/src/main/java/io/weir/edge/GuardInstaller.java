package io.weir.edge;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http2.Http2FrameCodec;
import io.netty.handler.ssl.SniCompletionEvent;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;

/**
 * Installs the guard of a TLS connection after the protocol negotiation, when the pipeline has its HTTP
 * codec. Records the name that the handshake asks for, and reports a handshake that fails.
 */
final class GuardInstaller extends ChannelInboundHandlerAdapter {

    private final CallerConnection connection;

    GuardInstaller(CallerConnection connection) {
        this.connection = connection;
    }

    /** Installs the guard if the pipeline has an HTTP codec; returns whether it has one. */
    static boolean install(ChannelPipeline pipeline, CallerConnection connection) {
        if (pipeline.get(HttpServerCodec.class) != null) {
            Http1Guard.install(pipeline, connection);
            return true;
        }
        if (pipeline.get(Http2FrameCodec.class) != null) {
            Http2Guard.install(pipeline, connection);
            return true;
        }
        return false;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        installIfNegotiated(context);
        context.fireChannelRead(message);
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
        if (event instanceof SniCompletionEvent completed) {
            String name = completed.hostname();
            if (name != null) {
                VirtualHosts.requested(context.channel(), name);
            }
        }
        if (event instanceof SslHandshakeCompletionEvent handshake && !handshake.isSuccess()) {
            connection.reportFailedHandshake(handshake.cause());
        }
        installIfNegotiated(context);
        context.fireUserEventTriggered(event);
    }

    private void installIfNegotiated(ChannelHandlerContext context) {
        if (!context.isRemoved() && install(context.pipeline(), connection)) {
            context.pipeline().remove(this);
        }
    }
}
