package io.weir.edge;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpStatusClass;

/**
 * Says {@code Connection: close} in an answer that is to be the connection's last, before Reactor Netty's traffic handler looks for that: so that handler drops the
 * requests that have been pipelined behind it, and closes the connection.
 */
@SuppressWarnings("FutureReturnValueIgnored") // What becomes of a write or a close, the channel tells.
final class LastAnswer extends ChannelOutboundHandlerAdapter {

    private final Http1Guard guard;

    LastAnswer(Http1Guard guard) {
        this.guard = guard;
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        if (message instanceof HttpResponse response
                && guard.isLastAnswer()
                && response.status().codeClass() != HttpStatusClass.INFORMATIONAL) {
            response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
        }
        context.write(message, promise);
    }
}
