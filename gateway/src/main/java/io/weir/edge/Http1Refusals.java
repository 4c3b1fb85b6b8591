package io.weir.edge;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.weir.outcome.Problem;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import org.jspecify.annotations.Nullable;

/**
 * The refusals of an HTTP/1 connection: each is reported when it is decided, and written in its turn.
 *
 * <p>Concurrency: confined to the connection's event loop.
 */
@SuppressWarnings("FutureReturnValueIgnored") // A failed write shows as the channel's close.
final class Http1Refusals {

    private final CallerConnection connection;
    private final Http1ConnectionState state;
    /** The id of the request that the state's refusal answers. */
    private String lastRequestId = "";

    Http1Refusals(CallerConnection connection, Http1ConnectionState state) {
        this.connection = connection;
        this.state = state;
    }

    /**
     * Makes a refusal the connection's last response.
     *
     * @param turn the number of open requests at which the refusal is written
     */
    void refuse(Refusal bad, @Nullable HttpRequest request, int turn) {
        lastRequestId = idOf(request);
        long waitedNanos = bad.reason() == Reason.CLIENT_TOO_SLOW ? waitedForHeadNanos() : 0;
        int answerBytes = isAnswered(bad) ? Problem.length(bad, lastRequestId) : 0;
        report(bad, lastRequestId, request, waitedNanos, answerBytes);
        state.refuse(bad, turn);
    }

    /** Writes the connection's last response if its turn has come; returns whether it has. */
    boolean writeIfDue(ChannelHandlerContext context) {
        Refusal due = state.takeDueRefusal();
        if (due != null && isAnswered(due)) {
            FullHttpResponse response = response(due, lastRequestId, context.alloc());
            response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
            context.writeAndFlush(response);
        }
        return due != null;
    }

    /** Whether the connection can stay open after the refusal of this well-formed request. */
    boolean canStayOpen(HttpRequest request) {
        return HttpVersion.HTTP_1_1.equals(request.protocolVersion())
                && HttpUtil.isKeepAlive(request)
                && !connection.rules().drain().isClosingConnections()
                && Http1RequestChecks.bodyLength(request) <= EdgeRules.UNREAD_MAX_BYTES;
    }

    /** Reports a refusal after which the connection stays open, and returns its response. */
    FullHttpResponse shed(Refusal overloaded, HttpRequest request, ByteBufAllocator allocator) {
        String requestId = idOf(request);
        boolean isHead = HttpMethod.HEAD.equals(request.method());
        report(overloaded, requestId, request, 0, isHead ? 0 : Problem.length(overloaded, requestId));
        return response(overloaded, requestId, allocator);
    }

    /** Reports a refusal that cannot be written, since a part of another response is sent already. */
    void reportUnanswered(Refusal bad, @Nullable HttpRequest request) {
        report(bad, idOf(request), request, 0, 0);
    }

    private void report(
            Refusal bad, String requestId, @Nullable HttpRequest request, long waitedNanos, int answerBytes) {
        connection.reportRefusal(
                bad.reason(),
                requestId,
                Http1RequestChecks.methodOf(request),
                Http1RequestChecks.targetOf(request),
                waitedNanos,
                answerBytes);
    }

    private long waitedForHeadNanos() {
        return state.hasServed()
                ? connection.rules().headTimeoutNanos()
                : connection.nowNanos() - connection.openedAtNanos();
    }

    private static String idOf(@Nullable HttpRequest request) {
        return RequestId.of(request == null ? null : request.headers().get(RequestId.X_REQUEST_ID));
    }

    /** Bytes of another protocol get no answer. */
    private static boolean isAnswered(Refusal bad) {
        return !bad.equals(Http1RequestChecks.NO_PROTOCOL);
    }

    private static FullHttpResponse response(Refusal refusal, String requestId, ByteBufAllocator allocator) {
        ByteBuf body = Problem.body(refusal, requestId, allocator);
        FullHttpResponse response = new DefaultFullHttpResponse(
                HttpVersion.HTTP_1_1, refusal.reason().status(), body);
        Problem.writeHead(refusal, response.headers());
        DateField.SYSTEM.addIfMissing(response.headers());
        response.headers()
                .set(RequestId.X_REQUEST_ID, requestId)
                .setInt(HttpHeaderNames.CONTENT_LENGTH, body.readableBytes());
        return response;
    }
}
