package io.weir.instance;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Lets an answer over HTTP/2 reach its caller although the backend has reset the stream before it received
 * the whole request. {@link AnswerDecoder} does the same over HTTP/1.1.
 *
 * <p>The reset fails the writes that wait for the backend's window. Netty then closes the stream's channel,
 * with what has arrived and is not read yet, and Reactor Netty gives the exchange up. So a body that cannot
 * be written is dropped, and what is read decides: an answer, or the end of the stream.
 *
 * <p>One instance per stream, on the event loop of its connection.
 */
final class UnsentBody extends ChannelOutboundHandlerAdapter {

    private boolean isTunnel;
    private boolean isDropped;

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
        // A stream that has ended closes its channel all the same, once everything is read.
        context.channel().config().setAutoClose(false);
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) throws Exception {
        if (message instanceof HttpRequest request) {
            isTunnel = HttpMethod.CONNECT.equals(request.method());
            super.write(context, message, promise);
        } else if (isTunnel) {
            super.write(context, message, promise);
        } else if (isDropped) {
            ReferenceCountUtil.release(message);
            promise.trySuccess();
        } else {
            ChannelPromise part = context.newPromise();
            part.addListener(_ -> written(context, part.cause(), promise));
            super.write(context, message, part);
        }
    }

    @SuppressWarnings("FutureReturnValueIgnored") // A stream that is being closed needs no result.
    private void written(ChannelHandlerContext context, @Nullable Throwable cause, ChannelPromise promise) {
        if (cause == null) {
            promise.trySuccess();
        } else if (cause instanceof IOException || isClosed(context)) {
            isDropped = true;
            promise.trySuccess();
        } else {
            promise.tryFailure(cause);
            context.close();
        }
    }

    private static boolean isClosed(ChannelHandlerContext context) {
        return context.channel() instanceof Http2StreamChannel channel
                && channel.stream().state() == Http2Stream.State.CLOSED;
    }
}
