package io.weir.edge;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.AttributeKey;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import reactor.netty.NettyPipeline;

/**
 * Keeps a request's trailers, which Reactor Netty drops.
 *
 * <p>The handler follows Reactor Netty's traffic handler, which passes one request after the other. On an
 * HTTP/1 connection it stays in the pipeline; on an HTTP/2 stream it is added for a body of unknown length.
 *
 * <p>It drops the trailer fields that a recipient may treat as a part of the head ({@link TrailerFields}).
 */
public final class RequestTrailers extends ChannelInboundHandlerAdapter {

    private static final AttributeKey<@Nullable HttpHeaders> TRAILERS =
            AttributeKey.valueOf(RequestTrailers.class, "trailers");

    private RequestTrailers() {}

    /** Keeps the trailers of every request on an HTTP/1 connection. */
    static ChannelInboundHandlerAdapter ofConnection() {
        return new RequestTrailers();
    }

    /** Keeps the trailers of an HTTP/2 stream whose request head has just arrived. */
    static void keep(Channel stream) {
        stream.pipeline().addBefore(NettyPipeline.ReactiveBridge, null, new RequestTrailers());
    }

    /** The trailers of the channel's latest request, without the dropped fields. */
    public static HttpHeaders of(Channel channel) {
        HttpHeaders trailers = channel.attr(TRAILERS).get();
        return trailers == null ? EmptyHttpHeaders.INSTANCE : trailers;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (message instanceof LastHttpContent last) {
            HttpHeaders trailers = last.trailingHeaders();
            if (!trailers.isEmpty()) {
                context.channel().attr(TRAILERS).set(withoutDropped(trailers));
            }
        } else if (message instanceof HttpRequest && context.channel().hasAttr(TRAILERS)) {
            context.channel().attr(TRAILERS).set(null);
        }
        context.fireChannelRead(message);
    }

    private static HttpHeaders withoutDropped(HttpHeaders trailers) {
        HttpHeaders kept = new DefaultHttpHeaders();
        for (Map.Entry<String, String> field : trailers) {
            if (!TrailerFields.belongsToHead(field.getKey())) {
                kept.add(field.getKey(), field.getValue());
            }
        }
        return kept;
    }
}
