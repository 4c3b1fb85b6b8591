package io.weir.edge;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http2.Http2StreamChannel;
import reactor.netty.Connection;
import reactor.netty.NettyPipeline;
import reactor.netty.http.server.HttpServer;

/**
 * Adds the {@link DateField} to the responses of a server that has no guards of the edge: the management
 * port's. Reactor Netty adds no date.
 *
 * <p>The handler is next to the codec, since Reactor Netty answers a malformed request below its own
 * handlers.
 *
 * <p>Without state, so one instance serves all connections.
 */
@Sharable
@SuppressWarnings("FutureReturnValueIgnored") // A failed write shows as the channel's close.
public final class DateHandler extends ChannelOutboundHandlerAdapter {

    private static final ChannelHandler INSTANCE = new DateHandler();

    private DateHandler() {}

    /** A server whose responses have a date: over HTTP/1 and HTTP/2, in clear text and over TLS. */
    public static HttpServer addTo(HttpServer server) {
        return server.doOnChannelInit((observer, channel, remote) -> {
                    if (!addAfterCodec(channel.pipeline())) {
                        channel.pipeline().addBefore(NettyPipeline.ReactiveBridge, null, new Installer());
                    }
                })
                .mapHandle((handled, connection) -> {
                    addToStream(connection);
                    return handled;
                });
    }

    /** Adds the handler if the pipeline has the codec of HTTP/1; returns whether it has. */
    private static boolean addAfterCodec(ChannelPipeline pipeline) {
        HttpServerCodec codec = pipeline.get(HttpServerCodec.class);
        if (codec == null) {
            return false;
        }
        pipeline.addAfter(pipeline.context(codec).name(), null, INSTANCE);
        return true;
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

    /** Waits for the codec of a TLS connection, which the negotiation of the protocol adds. */
    private static final class Installer extends ChannelInboundHandlerAdapter {

        @Override
        public void userEventTriggered(ChannelHandlerContext context, Object event) {
            if (addAfterCodec(context.pipeline())) {
                context.pipeline().remove(this);
            }
            context.fireUserEventTriggered(event);
        }
    }
}
