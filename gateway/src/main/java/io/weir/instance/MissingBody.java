package io.weir.instance;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.CodecException;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;

/**
 * Fails an answer over HTTP/2 that announces a body and has none. Netty compares {@code content-length} with
 * the bytes of each other answer; it accepts this one, which may answer a HEAD. An HTTP/1.1 caller would take
 * the next answer on its connection for the body.
 *
 * <p>One instance per stream, on the event loop of its connection.
 */
final class MissingBody extends ChannelDuplexHandler {

    private boolean isHead;
    private boolean isMissing;

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) throws Exception {
        if (message instanceof HttpRequest request) {
            isHead = HttpMethod.HEAD.equals(request.method());
        }
        super.write(context, message, promise);
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
        if (message instanceof HttpResponse answer) {
            isMissing = !isHead
                    && !HttpResponseStatus.NOT_MODIFIED.equals(answer.status())
                    && HttpUtil.getContentLength(answer, 0L) > 0;
        }
        if (message instanceof HttpContent content && content.content().isReadable()) {
            isMissing = false;
        }
        if (isMissing && message instanceof LastHttpContent) {
            ReferenceCountUtil.release(message);
            context.fireExceptionCaught(new CodecException("the answer has a content-length, but no body"));
            return;
        }
        super.channelRead(context, message);
    }
}
