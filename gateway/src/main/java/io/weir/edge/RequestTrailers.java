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
 * Keeps the fields behind a request's body, which Reactor Netty drops.
 *
 * <p>Behind its traffic handler, where one request comes after the other: on a connection of HTTP/1 for good, on a stream of HTTP/2 for a body of unknown length.
 *
 * <p>Of a trailer's fields only those are passed on that nobody takes for a part of the head (RFC 9110, 6.5.1): none that frame a message, route it, say who asks or how long they
 * wait, or how the body is to be read.
 */
public final class RequestTrailers extends ChannelInboundHandlerAdapter {

    private static final AttributeKey<@Nullable HttpHeaders> TRAILERS =
            AttributeKey.valueOf(RequestTrailers.class, "trailers");

    private static final Set<String> LEFT_OUT = Set.of(
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

    /** Keeps the trailers of every request on a connection of HTTP/1. */
    static ChannelInboundHandlerAdapter ofConnection() {
        return new RequestTrailers();
    }

    /** Keeps those of a stream of HTTP/2, whose request's head has just come. */
    public static void keep(Channel stream) {
        stream.pipeline().addBefore(NettyPipeline.ReactiveBridge, null, new RequestTrailers());
    }

    /** What has come behind the body of the request that came last, as far as it is passed on. */
    public static HttpHeaders of(Channel channel) {
        HttpHeaders trailers = channel.attr(TRAILERS).get();
        return trailers == null ? EmptyHttpHeaders.INSTANCE : trailers;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (message instanceof LastHttpContent last) {
            HttpHeaders trailers = last.trailingHeaders();
            if (!trailers.isEmpty()) {
                context.channel().attr(TRAILERS).set(passedOn(trailers));
            }
        } else if (message instanceof HttpRequest && context.channel().hasAttr(TRAILERS)) {
            context.channel().attr(TRAILERS).set(null);
        }
        context.fireChannelRead(message);
    }

    private static HttpHeaders passedOn(HttpHeaders trailers) {
        HttpHeaders passed = new DefaultHttpHeaders();
        for (Map.Entry<String, String> field : trailers) {
            String name = field.getKey().toLowerCase(Locale.ROOT);
            if (!LEFT_OUT.contains(name) && !name.startsWith("if-") && !name.startsWith("x-forwarded")) {
                passed.add(field.getKey(), field.getValue());
            }
        }
        return passed;
    }
}
