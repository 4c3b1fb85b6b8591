package io.weir.instance;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.LastHttpContent;
import org.jspecify.annotations.Nullable;
import reactor.netty.NettyPipeline;

/**
 * Sends trailers after a request's body. Reactor Netty's client has no API for that.
 *
 * <p>Concurrency: confined to the event loop of the backend's connection, except {@link #set}, which happens
 * before the end of the body is signalled.
 */
@SuppressWarnings("FutureReturnValueIgnored") // The channel reports the result of a write.
public final class TrailingFields extends ChannelOutboundHandlerAdapter {

    private volatile @Nullable HttpHeaders fields;

    private TrailingFields() {}

    /** Installs a handler for the request that is about to be written. */
    public static TrailingFields await(Channel connection) {
        TrailingFields trailing = new TrailingFields();
        connection.pipeline().addBefore(NettyPipeline.ReactiveBridge, null, trailing);
        return trailing;
    }

    /** Sets the trailers. */
    public void set(HttpHeaders trailers) {
        fields = trailers;
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        if (!(message instanceof LastHttpContent last)) {
            context.write(message, promise);
            return;
        }
        HttpHeaders trailers = fields;
        context.pipeline().remove(this);
        if (trailers == null || last != LastHttpContent.EMPTY_LAST_CONTENT) {
            context.write(message, promise);
        } else {
            context.write(new DefaultLastHttpContent(Unpooled.EMPTY_BUFFER, trailers), promise);
        }
    }
}
