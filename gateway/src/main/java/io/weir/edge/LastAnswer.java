package io.weir.edge;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.util.AttributeKey;
import org.jspecify.annotations.Nullable;

/**
 * Says {@code Connection: close} in an answer that is to be the connection's last, before Reactor Netty's traffic handler looks for that: so that handler drops the
 * requests that have been pipelined behind it, and closes the connection.
 *
 * <p>Whether the gateway has closed a connection behind its last answer, or the caller has left, nobody could tell from a connection that is closed: that is kept here.
 */
@SuppressWarnings("FutureReturnValueIgnored") // What becomes of a write or a close, the channel tells.
public final class LastAnswer extends ChannelOutboundHandlerAdapter {

    private static final AttributeKey<@Nullable Boolean> FLUSHED = AttributeKey.valueOf(LastAnswer.class, "flushed");

    private final Http1Guard guard;

    LastAnswer(Http1Guard guard) {
        this.guard = guard;
    }

    /** Whether a connection's last answer has been flushed to its last byte, whoever closes it then. */
    public static boolean isFlushed(Channel channel) {
        return channel.attr(FLUSHED).get() != null;
    }

    /** Takes note of the end of the last answer; before whoever closes the connection for it is told. */
    static ChannelPromise noting(ChannelPromise end) {
        return end.unvoid().addListener((ChannelFutureListener) written -> {
            if (written.isSuccess()) {
                written.channel().attr(FLUSHED).set(Boolean.TRUE);
            }
        });
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
