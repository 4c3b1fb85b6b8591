package io.weir.instance;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;

/**
 * Drops informational answers, except 101, which is final. Reactor Netty would mistake them for the final
 * answer: a 100 only in a WebSocket handshake, the others always. One instance per connection.
 */
final class InformationalFilter extends ChannelInboundHandlerAdapter {

    private boolean dropping;

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof HttpResponse response) {
            HttpResponseStatus status = response.status();
            dropping = status.codeClass() == HttpStatusClass.INFORMATIONAL
                    && status.code() != HttpResponseStatus.SWITCHING_PROTOCOLS.code();
        }
        if (!dropping) {
            ctx.fireChannelRead(message);
            return;
        }
        if (message instanceof LastHttpContent) {
            dropping = false;
        }
        ReferenceCountUtil.release(message);
        // Until the answer's body is requested, the connection is read one message at a time.
        ctx.read();
    }
}
