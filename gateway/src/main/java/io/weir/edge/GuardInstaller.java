package io.weir.edge;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http2.Http2FrameCodec;

/**
 * Installs the guard of a TLS connection after the protocol negotiation, when the pipeline has its HTTP
 * codec.
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
        installIfNegotiated(context);
        context.fireUserEventTriggered(event);
    }

    private void installIfNegotiated(ChannelHandlerContext context) {
        if (!context.isRemoved() && install(context.pipeline(), connection)) {
            context.pipeline().remove(this);
        }
    }
}
