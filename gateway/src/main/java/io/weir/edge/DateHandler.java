package io.weir.edge;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http2.Http2StreamChannel;
import reactor.netty.Connection;
import reactor.netty.NettyPipeline;
import reactor.netty.http.server.HttpServer;

/**
 * Adds the {@link DateField} to the responses over HTTP/2 of a server that has no door: the management
 * port's. Reactor Netty adds no date. Over HTTP/1, the guard does.
 *
 * <p>Without state, so one instance serves all streams.
 */
@Sharable
@SuppressWarnings("FutureReturnValueIgnored") // A failed write shows as the channel's close.
public final class DateHandler extends ChannelOutboundHandlerAdapter {

    private static final ChannelHandler INSTANCE = new DateHandler();

    private DateHandler() {}

    /** A server whose responses over HTTP/2 have a date. */
    public static HttpServer addTo(HttpServer server) {
        return server.mapHandle((handled, connection) -> {
            addToStream(connection);
            return handled;
        });
    }

    private static void addToStream(Connection connection) {
        Channel channel = connection.channel();
        if (channel instanceof Http2StreamChannel) {
            channel.pipeline().addBefore(NettyPipeline.ReactiveBridge, null, INSTANCE);
        }
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        if (message instanceof HttpResponse response
                && response.status().codeClass() != HttpStatusClass.INFORMATIONAL) {
            DateField.SYSTEM.addIfMissing(response.headers());
        }
        context.write(message, promise);
    }
}
