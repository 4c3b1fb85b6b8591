package io.weir.edge;

import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http2.Http2ResetFrame;
import reactor.netty.NettyPipeline;

/**
 * Records that the response of an HTTP/2 stream is flushed, in the same place as {@link LastResponseHandler}.
 *
 * <p>A stream is closed by its last frame, and so before Reactor Netty reports the flush of that frame. A
 * closed stream alone does not tell whether the response is complete, or the caller has cancelled it.
 *
 * <p>It adds the {@link DateField} to the response, which {@link Http1Guard} does on HTTP/1.
 *
 * <p>It also closes a stream whose caller has left. Netty's stream does not notice that while a part of the
 * request's body is unread: its exchange would hold its permit until the deadline.
 *
 * <p>Without state, so one instance serves all streams.
 */
@Sharable
@SuppressWarnings("FutureReturnValueIgnored") // A failed write shows as the stream's close.
public final class StreamEndHandler extends ChannelDuplexHandler {

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
            closeWithConnection(stream);
        } else if (request.contains(HttpHeaderNames.CONTENT_LENGTH)) {
            closeWithConnection(stream);
        }
    }

    /** Closes a stream whose body may be unread when its connection closes. */
    private static void closeWithConnection(Channel stream) {
        ChannelFutureListener close = closed -> stream.close();
        stream.parent().closeFuture().addListener(close);
        stream.closeFuture().addListener(closed -> stream.parent().closeFuture().removeListener(close));
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
        boolean isReset = event instanceof Http2ResetFrame;
        context.fireUserEventTriggered(event);
        if (isReset) {
            // As a later task: the codec closes the stream after this event, and then sends no reset in
            // return.
            context.channel().eventLoop().execute(context.channel()::close);
        }
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        boolean isInformational = isInformational(message);
        if (message instanceof HttpResponse response && !isInformational) {
            DateField.SYSTEM.addIfMissing(response.headers());
        }
        boolean isEnd = message instanceof LastHttpContent && !isInformational;
        context.write(message, isEnd ? LastResponseHandler.noteFlush(promise) : promise);
    }

    private static boolean isInformational(Object message) {
        return message instanceof HttpResponse response
                && response.status().codeClass() == HttpStatusClass.INFORMATIONAL;
    }
}
