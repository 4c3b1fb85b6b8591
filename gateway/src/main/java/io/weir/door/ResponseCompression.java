package io.weir.door;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpVersion;
import io.weir.compression.CompressionRule;
import org.reactivestreams.Publisher;
import reactor.netty.http.server.HttpServerRequest;

/** Compresses the bodies of responses by the rules of their routes. */
final class ResponseCompression {

    private ResponseCompression() {}

    /** Whether the response may be compressed. */
    static boolean isPossible(InboundRequest inbound) {
        // HTTP/1.0 has no chunks: a compressed body that is cut off would look complete.
        return inbound.compression() != null
                && !HttpVersion.HTTP_1_0.equals(inbound.request().version());
    }

    /** Compresses a body if the route's rule says so, and changes the response's head then. */
    static Publisher<ByteBuf> apply(InboundRequest inbound, int status, Publisher<ByteBuf> body) {
        HttpHeaders head = inbound.response().responseHeaders();
        CompressionRule rule = inbound.compression();
        if (rule == null || !applies(inbound, rule, status, contentLength(head))) {
            return body;
        }
        CompressionRule.encode(head);
        head.set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
        return rule.stream(body, inbound.channel().alloc());
    }

    /** Compresses a complete body, which the callee owns, and changes the response's head then. */
    static ByteBuf apply(InboundRequest inbound, int status, ByteBuf body) {
        HttpHeaders head = inbound.response().responseHeaders();
        CompressionRule rule = inbound.compression();
        boolean isHead = HttpMethod.HEAD.equals(inbound.request().method());
        if (rule == null || !applies(inbound, rule, status, isHead ? contentLength(head) : body.readableBytes())) {
            return body;
        }
        ByteBuf compressed = CompressionRule.compress(body, inbound.channel().alloc());
        if (compressed == null) {
            return body;
        }
        body.release();
        boolean hasLength = head.contains(HttpHeaderNames.CONTENT_LENGTH);
        CompressionRule.encode(head);
        if (hasLength) {
            head.set(HttpHeaderNames.CONTENT_LENGTH, Integer.toString(compressed.readableBytes()));
        }
        return compressed;
    }

    private static boolean applies(InboundRequest inbound, CompressionRule rule, int status, long length) {
        if (!isPossible(inbound)) {
            return false;
        }
        HttpServerRequest request = inbound.request();
        HttpHeaders head = inbound.response().responseHeaders();
        boolean applies = rule.applies(request.method(), request.requestHeaders(), status, head, length);
        if (HttpMethod.HEAD.equals(request.method()) && !head.contains(HttpHeaderNames.CONTENT_LENGTH)) {
            // As in the response to a GET; otherwise Reactor Netty adds a length of 0.
            head.set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
        }
        return applies;
    }

    private static long contentLength(HttpHeaders head) {
        String length = head.get(HttpHeaderNames.CONTENT_LENGTH);
        try {
            return length == null ? CompressionRule.UNKNOWN_LENGTH : Long.parseLong(length);
        } catch (NumberFormatException e) {
            // A filter has set it.
            return CompressionRule.UNKNOWN_LENGTH;
        }
    }
}
