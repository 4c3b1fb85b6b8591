package io.weir.instance;

import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2StreamChannel;

/**
 * Ends an HTTP/2 stream with a WebSocket as an HTTP/1.1 connection ends (RFC 8441, 5).
 *
 * <ul>
 *   <li>The peer's END_STREAM closes the stream. Reactor Netty reads only the bytes of that frame, so that a
 *       peer that ends its side without a close frame would leave the WebSocket open.
 *   <li>Frames that were written before a close are sent before the stream's reset. Netty sends frames that
 *       are written during a read after it, but a reset at once. The peer would lose the close frame, and
 *       receive it on a closed stream, for which it may end the whole connection (RFC 9113, 5.1).
 * </ul>
 *
 * <p>Without state, so one instance serves all streams.
 */
@Sharable
@SuppressWarnings("FutureReturnValueIgnored") // A failed close shows as the channel's close.
public final class WebSocketStream extends ChannelDuplexHandler {

    private static final WebSocketStream INSTANCE = new WebSocketStream();

    private WebSocketStream() {}

    /** Installs the handler if the connection of a WebSocket is an HTTP/2 stream. */
    public static void install(Channel connection) {
        if (connection instanceof Http2StreamChannel) {
            connection.pipeline().addFirst(INSTANCE);
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        boolean isEnd = (message instanceof Http2DataFrame data && data.isEndStream())
                || (message instanceof Http2HeadersFrame head && head.isEndStream());
        context.fireChannelRead(message);
        if (isEnd) {
            context.channel().close();
        }
    }

    /** As a later task: by then the read has ended, and the frames before the close have been sent. */
    @Override
    public void close(ChannelHandlerContext context, ChannelPromise promise) {
        context.flush();
        context.executor().execute(() -> context.close(promise));
    }
}
