package io.weir.edge;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.LastHttpContent;
import reactor.netty.NettyPipeline;

/**
 * Records that the response of an HTTP/2 stream is flushed, in the same place as {@link LastResponseHandler}.
 *
 * <p>A stream is closed by its last frame, and so before Reactor Netty reports the flush of that frame. A
 * closed stream alone does not tell whether the response is complete, or the caller has cancelled it.
 *
 * <p>Without state, so one instance serves all streams.
 */
@Sharable
@SuppressWarnings("FutureReturnValueIgnored") // A failed write shows as the stream's close.
public final class StreamEndHandler extends ChannelOutboundHandlerAdapter {

    private static final StreamEndHandler INSTANCE = new StreamEndHandler();

    private StreamEndHandler() {}

    /**
     * Installs the handler on a stream whose request head has just arrived, and the one of the request's
     * trailers if the body has no declared length.
     */
    public static void install(Channel stream, HttpHeaders request) {
        stream.pipeline().addBefore(NettyPipeline.ReactiveBridge, null, INSTANCE);
        if (request.contains(HttpHeaderNames.TRANSFER_ENCODING)) {
            RequestTrailers.keep(stream);
        }
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        boolean isEnd = message instanceof LastHttpContent && !isInformational(message);
        context.write(message, isEnd ? LastResponseHandler.noteFlush(promise) : promise);
    }

    private static boolean isInformational(Object message) {
        return message instanceof HttpResponse response
                && response.status().codeClass() == HttpStatusClass.INFORMATIONAL;
    }
}
