package io.weir.edge;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.Http2FrameStream;
import io.netty.handler.codec.http2.Http2Headers;
import io.weir.outcome.Problem;
import io.weir.outcome.Refusal;
import org.jspecify.annotations.Nullable;

/**
 * The refusal of a request on an HTTP/2 stream, in the form that the request asks for.
 *
 * @param method the request's method; null if it has none
 * @param path the request's path; null if it has none
 * @param isGrpc whether the response is a status of gRPC, which has no body
 */
record Http2Refusal(
        Refusal refusal,
        String requestId,
        @Nullable String method,
        @Nullable String path,
        boolean isGrpc) {

    static Http2Refusal of(Http2Headers request, Refusal refusal) {
        CharSequence type = request.get(HttpHeaderNames.CONTENT_TYPE);
        return new Http2Refusal(
                refusal,
                RequestId.of(request.get(RequestId.X_REQUEST_ID)),
                text(request.method()),
                text(request.path()),
                type != null && type.toString().startsWith("application/grpc"));
    }

    private static @Nullable String text(@Nullable CharSequence field) {
        return field == null ? null : field.toString();
    }

    void report(CallerConnection connection) {
        int answerBytes = hasBody() ? Problem.length(refusal, requestId) : 0;
        connection.reportRefusal(refusal.reason(), requestId, method, path, 0, answerBytes);
    }

    /** Writes the response; returns the future of its last frame. */
    ChannelFuture write(ChannelHandlerContext context, Http2FrameStream stream) {
        ByteBuf body = Problem.body(refusal, requestId, context.alloc());
        Http2Headers head = head(body.readableBytes());
        ChannelFuture written = context.write(new DefaultHttp2HeadersFrame(head, !hasBody()).stream(stream));
        if (hasBody()) {
            return context.write(new DefaultHttp2DataFrame(body, true).stream(stream));
        }
        body.release();
        return written;
    }

    private boolean hasBody() {
        return !isGrpc && !HttpMethod.HEAD.name().equals(method);
    }

    private Http2Headers head(int bodyBytes) {
        HttpHeaders fields = new DefaultHttpHeaders();
        fields.set(RequestId.X_REQUEST_ID, requestId);
        DateField.SYSTEM.addIfMissing(fields);
        if (isGrpc) {
            Problem.writeGrpc(refusal, fields);
        } else {
            Problem.writeHead(refusal, fields);
            fields.setInt(HttpHeaderNames.CONTENT_LENGTH, bodyBytes);
        }
        HttpResponseStatus status =
                isGrpc ? HttpResponseStatus.OK : refusal.reason().status();
        Http2Headers head = new DefaultHttp2Headers().status(status.codeAsText());
        fields.iteratorCharSequence().forEachRemaining(field -> head.add(field.getKey(), field.getValue()));
        return head;
    }
}
