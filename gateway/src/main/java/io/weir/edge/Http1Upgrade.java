package io.weir.edge;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpServerUpgradeHandler;
import io.netty.handler.codec.http2.Http2FrameCodec;

/**
 * The upgrade of an HTTP/1 connection to HTTP/2: by {@code Upgrade: h2c} in the first request, or by prior
 * knowledge.
 *
 * <p>Concurrency: confined to the connection's event loop.
 */
final class Http1Upgrade {

    private final CallerConnection connection;
    private boolean hasUpgradeHandler;
    private boolean isH2c;

    Http1Upgrade(CallerConnection connection, boolean hasUpgradeHandler) {
        this.connection = connection;
        this.hasUpgradeHandler = hasUpgradeHandler;
    }

    /** Whether the connection was upgraded by {@code Upgrade: h2c}. */
    boolean isH2c() {
        return isH2c;
    }

    /**
     * Keeps requests from Netty's upgrade handler that it treats wrongly. The handler takes every request
     * with an {@code Upgrade} field: it aggregates the request, answers {@code Expect} too early, and refuses
     * a body. So the field is removed from a request that cannot be upgraded anyway, and the handler is
     * removed after the first request.
     */
    void restrict(ChannelHandlerContext context, HttpRequest request, boolean isFirst) {
        if (!hasUpgradeHandler) {
            return;
        }
        if (!isFirst) {
            hasUpgradeHandler = false;
            context.pipeline().remove(HttpServerUpgradeHandler.class);
            return;
        }
        HttpHeaders headers = request.headers();
        if (headers.contains(HttpHeaderNames.UPGRADE)
                && (Http1RequestChecks.bodyLength(request) != 0 || headers.contains(HttpHeaderNames.EXPECT))) {
            headers.remove(HttpHeaderNames.UPGRADE);
        }
    }

    /** Notes the protocol that a 101 response announces. */
    void switchingProtocols(HttpResponse response) {
        isH2c = response.headers().contains(HttpHeaderNames.UPGRADE, "h2c", true);
    }

    /** Hands the connection over from the HTTP/1 guard to the HTTP/2 guard, unless that has happened. */
    void handOver(ChannelHandlerContext guard, Http1Scanner scanner) {
        ChannelPipeline pipeline = guard.pipeline();
        if (guard.isRemoved() || pipeline.get(Http2FrameCodec.class) == null) {
            return;
        }
        if (isH2c) {
            Http2Guard.install(pipeline, connection);
        } else {
            // The codec precedes the HTTP/1 guard, and an Http2Scanner has read the bytes since the first
            // one.
            Http2Guard.installAfter(guard.name(), pipeline, connection);
        }
        pipeline.remove(scanner);
        pipeline.remove(LastResponseHandler.class);
        pipeline.remove(RequestTrailers.class);
        pipeline.remove(guard.handler());
    }
}
