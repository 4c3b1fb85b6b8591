package io.weir.edge;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.util.AttributeKey;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Sets {@code Connection: close} on an HTTP/1 connection's last response, before Reactor Netty's traffic
 * handler reads that field. The traffic handler then drops the requests that are pipelined behind the
 * response, and closes the connection.
 *
 * <p>It also records that the last response is flushed. A closed channel alone does not tell whether the
 * gateway closed it after its last response, or the caller left.
 */
@SuppressWarnings("FutureReturnValueIgnored") // A failed write or close shows as the channel's close.
public final class LastResponseHandler extends ChannelOutboundHandlerAdapter {

    private static final AttributeKey<@Nullable Boolean> FLUSHED =
            AttributeKey.valueOf(LastResponseHandler.class, "flushed");

    private static final Pattern CLOSE = Pattern.compile("(?<![^\\s,])close(?![^\\s,])", Pattern.CASE_INSENSITIVE);

    private final EdgeRules rules;
    private final Http1ConnectionState state;

    LastResponseHandler(EdgeRules rules, Http1ConnectionState state) {
        this.rules = rules;
        this.state = state;
    }

    /**
     * Whether the last response of a connection, or the only one of an HTTP/2 stream, is flushed completely,
     * regardless of which side closes the channel then.
     */
    public static boolean isLastResponseFlushed(Channel channel) {
        return channel.attr(FLUSHED).get() != null;
    }

    /**
     * Records the flush of the last response, before other listeners of the promise can close the connection.
     */
    static ChannelPromise noteFlush(ChannelPromise end) {
        return end.unvoid().addListener((ChannelFutureListener) written -> {
            if (written.isSuccess()) {
                written.channel().attr(FLUSHED).set(Boolean.TRUE);
            }
        });
    }

    /**
     * Hides {@code Connection: close} in a request from Reactor Netty, which obeys the request that it has
     * read last instead of the one that it answers, and would drop the requests in between. This handler
     * announces the close later.
     */
    static void hideClose(HttpHeaders headers) {
        List<String> values = headers.getAll(HttpHeaderNames.CONNECTION);
        headers.set(HttpHeaderNames.CONNECTION, HttpHeaderValues.KEEP_ALIVE);
        for (String value : values) {
            headers.add(HttpHeaderNames.CONNECTION, CLOSE.matcher(value).replaceAll("keep-alive"));
        }
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        if (message instanceof HttpResponse response
                && (rules.drain().isClosingConnections() || state.mustCloseAfterResponse())
                && response.status().codeClass() != HttpStatusClass.INFORMATIONAL) {
            response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
        }
        context.write(message, promise);
    }
}
