package io.weir.instance;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import io.weir.outcome.Problem;

/**
 * Drops informational answers, except 101, which is final. Reactor Netty would mistake them for the final
 * answer: a 100 in a WebSocket handshake, the others in any request. One instance per connection, or per
 * stream over HTTP/2.
 *
 * <p>It also gives a gRPC answer that ends with its head ("trailers-only") a length of 0, so that it reaches
 * the caller as a head that ends its stream. Reactor Netty does not distinguish such a head from one whose
 * body turns out to be empty, but gRPC's callers do: they look for the status in a head only if it ends the
 * stream.
 */
final class InformationalFilter extends ChannelInboundHandlerAdapter {

    private boolean isDropping;

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof HttpResponse response) {
            HttpResponseStatus status = response.status();
            isDropping = status.codeClass() == HttpStatusClass.INFORMATIONAL
                    && status.code() != HttpResponseStatus.SWITCHING_PROTOCOLS.code();
        }
        if (!isDropping) {
            if (message instanceof FullHttpResponse whole
                    && !whole.content().isReadable()
                    && Problem.isGrpc(whole.headers())) {
                whole.headers().set(HttpHeaderNames.CONTENT_LENGTH, HttpHeaderValues.ZERO);
            }
            ctx.fireChannelRead(message);
            return;
        }
        if (message instanceof LastHttpContent) {
            isDropping = false;
        }
        ReferenceCountUtil.release(message);
        // Until the answer's body is requested, the connection is read one message at a time.
        ctx.read();
    }
}
