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
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import reactor.netty.NettyPipeline;

/**
 * Keeps a request's trailers, which Reactor Netty drops.
 *
 * <p>The handler follows Reactor Netty's traffic handler, which passes one request after the other. On an
 * HTTP/1 connection it stays in the pipeline; on an HTTP/2 stream it is added for a body of unknown length.
 *
 * <p>It drops the trailer fields that a recipient may treat as a part of the head (RFC 9110, 6.5.1): fields
 * that frame or route a message, authenticate the caller, carry a deadline, or say how to read the body.
 */
public final class RequestTrailers extends ChannelInboundHandlerAdapter {

    private static final AttributeKey<@Nullable HttpHeaders> TRAILERS =
            AttributeKey.valueOf(RequestTrailers.class, "trailers");

    private static final Set<String> DROPPED = Set.of(
            "authorization",
            "cache-control",
            "connection",
            "content-encoding",
            "content-length",
            "content-range",
            "content-type",
            "cookie",
            "expect",
            "forwarded",
            "grpc-timeout",
            "host",
            "http2-settings",
            "keep-alive",
            "max-forwards",
            "pragma",
            "proxy-authorization",
            "proxy-connection",
            "range",
            "te",
            "traceparent",
            "tracestate",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "via",
            "x-envoy-expected-rq-timeout-ms",
            "x-real-ip",
            "x-request-id",
            "x-request-timeout");

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
            String name = field.getKey().toLowerCase(Locale.ROOT);
            if (!DROPPED.contains(name) && !name.startsWith("if-") && !name.startsWith("x-forwarded")) {
                kept.add(field.getKey(), field.getValue());
            }
        }
        return kept;
    }
}
