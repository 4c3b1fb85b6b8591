package io.weir.edge;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http2.Http2FrameCodec;

/** Waits for TLS and its negotiation of the protocol, since the codec that is to be guarded comes into the pipeline only then. */
final class Arrival extends ChannelInboundHandlerAdapter {

    private final CallerConnection connection;

    Arrival(CallerConnection connection) {
        this.connection = connection;
    }

    /** Guards the connection if its codec is there. */
    static boolean guard(ChannelPipeline pipeline, CallerConnection connection) {
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
        guardIfNegotiated(context);
        context.fireChannelRead(message);
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
        guardIfNegotiated(context);
        context.fireUserEventTriggered(event);
    }

    private void guardIfNegotiated(ChannelHandlerContext context) {
        if (!context.isRemoved() && guard(context.pipeline(), connection)) {
            context.pipeline().remove(this);
        }
    }
}
