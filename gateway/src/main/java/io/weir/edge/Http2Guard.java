package io.weir.edge;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2GoAwayFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2ConnectionAdapter;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameCodec;
import io.netty.handler.codec.http2.Http2FrameStream;
import io.netty.handler.codec.http2.Http2FrameStreamException;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2LifecycleManager;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.handler.codec.http2.Http2StreamFrame;
import io.netty.util.AsciiString;
import io.weir.outcome.Problem;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.io.IOException;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Holds an HTTP/2 connection to the rules, between the codec and the streams.
 *
 * <p>What the codec finds malformed, it answers by resetting the stream or closing the connection; that is told to the listener. What it lets pass and a request must not be, is
 * refused here in the shape of every other refusal. A body that nobody wants is dropped up to a limit, and then the stream is reset without an
 * error (RFC 9113, 8.1); a refusal that its caller does not take, with one.
 *
 * <p>Concurrency: confined to the connection's event loop.
 */
@SuppressWarnings("FutureReturnValueIgnored") // What becomes of a write or a close, the channel tells.
final class Http2Guard extends ChannelDuplexHandler implements CallerConnection.Guard {

    private static final AsciiString EMPTY = AsciiString.cached("");

    private final CallerConnection connection;
    private final EdgeRules rules;
    private final Http2FrameCodec codec;
    /** Streams whose answer is complete and whose request is not, and those whose refusal the caller does not take. */
    private final Map<Integer, Unread> unread = new HashMap<>();

    private boolean asked;
    private boolean inHead;
    private long headSince;
    private long idleSince;
    private boolean goingAway;
    private @Nullable ChannelHandlerContext ctx;

    /** The body of a request that has been answered; or a refusal. */
    private static final class Unread {

        private final Http2FrameStream stream;
        private final long since;
        private long bytes;

        Unread(Http2FrameStream stream, long since) {
            this.stream = stream;
            this.since = since;
        }
    }

    private Http2Guard(CallerConnection connection, Http2FrameCodec codec) {
        this.connection = connection;
        this.rules = connection.rules();
        this.codec = codec;
        this.idleSince = connection.now();
    }

    /** Guards a connection whose pipeline has an HTTP/2 codec, and whose first byte is still to come. */
    static void install(ChannelPipeline pipeline, CallerConnection connection) {
        String codec = pipeline.context(Http2FrameCodec.class).name();
        pipeline.addBefore(codec, null, new Http2Framer(connection));
        installAfter(codec, pipeline, connection);
    }

    /** Guards a connection whose bytes are followed already. */
    static void installAfter(String handler, ChannelPipeline pipeline, CallerConnection connection) {
        Http2Guard guard = new Http2Guard(connection, pipeline.get(Http2FrameCodec.class));
        pipeline.addAfter(handler, null, guard);
        connection.guardedBy(guard);
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
        ctx = context;
        codec.connection().addListener(new Http2ConnectionAdapter() {
            @Override
            public void onStreamClosed(Http2Stream stream) {
                streamClosed(stream.id());
            }
        });
        codec.encoder().lifecycleManager(new Violations());
    }

    // ---------------------------------------------------------------- requests

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (message instanceof Http2HeadersFrame head && head.headers().method() != null) {
            onRequest(context, head);
        } else {
            if (message instanceof Http2StreamFrame frame && !unread.isEmpty()) {
                onUnread(context, frame);
            }
            context.fireChannelRead(message);
        }
    }

    private void onRequest(ChannelHandlerContext context, Http2HeadersFrame head) {
        asked = true;
        Refusal bad = check(head.headers());
        if (bad != null) {
            refuse(context, head, bad);
        } else {
            context.fireChannelRead(head);
        }
        if (!goingAway && rules.drain().isClosingConnections()) {
            drain();
        }
    }

    private @Nullable Refusal check(Http2Headers headers) {
        CharSequence path = headers.path();
        if (HttpMethod.CONNECT.asciiName().contentEquals(headers.method() == null ? EMPTY : headers.method())) {
            return Refusal.of(Reason.BAD_REQUEST, "method: CONNECT (expected: one that is not meant for proxies)");
        }
        if (path == null || !isToken(headers.method()) || !HttpUtil.isEncodingSafeStartLineToken(path)) {
            return Refusal.of(Reason.BAD_REQUEST, "request: malformed (expected: a method and a path)");
        }
        if (path.length() > rules.maxUriLength()) {
            return Refusal.of(Reason.URI_TOO_LONG, "path: longer than " + rules.maxUriLength() + " bytes");
        }
        int fields = 0;
        long size = 0;
        for (Map.Entry<CharSequence, CharSequence> field : headers) {
            CharSequence name = field.getKey();
            if (name.charAt(0) != ':') {
                fields++;
                // As HTTP/1 would have it, with a colon, a space, and an end of line that does not count there.
                size += name.length() + field.getValue().length() + 2;
            }
        }
        if (fields > rules.maxHeaderCount()) {
            return Refusal.of(
                    Reason.HEADERS_TOO_LARGE,
                    "fields: " + fields + " (expected: at most " + rules.maxHeaderCount() + ")");
        }
        if (size > rules.maxHeaderSize()) {
            return Refusal.of(
                    Reason.HEADERS_TOO_LARGE, "header section: larger than " + rules.maxHeaderSize() + " bytes");
        }
        return checkAuthority(headers);
    }

    /** One authority, wherever it stands; {@code Host} beside {@code :authority} must say the same. */
    private static @Nullable Refusal checkAuthority(Http2Headers headers) {
        CharSequence authority = headers.authority();
        List<CharSequence> hosts = headers.getAll(HttpHeaderNames.HOST);
        if (hosts.size() > 1) {
            return Refusal.of(Reason.BAD_REQUEST, "host: more than one (expected: one)");
        }
        if (authority == null && hosts.isEmpty()) {
            return Refusal.of(Reason.BAD_REQUEST, "host: missing (expected: one)");
        }
        CharSequence host = authority == null ? hosts.get(0) : authority;
        if (!Authority.isValid(host)) {
            return Refusal.of(Reason.BAD_REQUEST, "host: malformed (expected: a host, and perhaps a port)");
        }
        if (authority != null && !hosts.isEmpty() && !AsciiString.contentEqualsIgnoreCase(authority, hosts.get(0))) {
            return Refusal.of(Reason.BAD_REQUEST, "host: another than :authority (expected: the same)");
        }
        return null;
    }

    private static boolean isToken(@Nullable CharSequence method) {
        if (method == null) {
            return false;
        }
        try {
            HttpMethod.valueOf(method.toString());
            return true;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private void refuse(ChannelHandlerContext context, Http2HeadersFrame head, Refusal bad) {
        CharSequence method = head.headers().method();
        CharSequence path = head.headers().path();
        connection.refused(
                bad.reason(), method == null ? null : method.toString(), path == null ? null : path.toString(), 0);
        Http2FrameStream stream = head.stream();
        HttpHeaders fields = new DefaultHttpHeaders();
        CharSequence type = head.headers().get(HttpHeaderNames.CONTENT_TYPE);
        boolean grpc = type != null && type.toString().startsWith("application/grpc");
        boolean bodiless = grpc || HttpMethod.HEAD.asciiName().contentEquals(method == null ? EMPTY : method);
        ByteBuf body = Problem.body(bad, context.alloc());
        HttpResponseStatus status;
        if (grpc) {
            status = HttpResponseStatus.OK;
            Problem.writeGrpc(bad, fields);
        } else {
            status = bad.reason().status();
            Problem.writeHead(bad, fields);
            fields.setInt(HttpHeaderNames.CONTENT_LENGTH, body.readableBytes());
        }
        Http2Headers answer = new DefaultHttp2Headers().status(status.codeAsText());
        Iterator<Map.Entry<CharSequence, CharSequence>> each = fields.iteratorCharSequence();
        while (each.hasNext()) {
            Map.Entry<CharSequence, CharSequence> field = each.next();
            answer.add(field.getKey(), field.getValue());
        }
        ChannelFuture written = context.write(new DefaultHttp2HeadersFrame(answer, bodiless).stream(stream));
        if (bodiless) {
            body.release();
        } else {
            written = context.write(new DefaultHttp2DataFrame(body, true).stream(stream));
        }
        if (!head.isEndStream()) {
            // Not before: a reset overtakes what waits for the caller's window.
            written.addListener(answered -> {
                if (answered.isSuccess()) {
                    reset(context, stream, Http2Error.NO_ERROR);
                }
            });
        }
        context.flush();
        if (!written.isDone()) {
            unread.put(stream.id(), new Unread(stream, connection.now()));
            arm();
        }
    }

    // ---------------------------------------------------------------- answers, and bodies that nobody reads

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        Http2FrameStream stream = endsStream(message);
        if (stream != null && stream.state() == Http2Stream.State.OPEN) {
            context.write(message, promise.unvoid()).addListener(answered -> {
                if (stream.state() == Http2Stream.State.HALF_CLOSED_LOCAL) {
                    unread.put(stream.id(), new Unread(stream, connection.now()));
                    arm();
                }
            });
        } else {
            context.write(message, promise);
        }
    }

    private static @Nullable Http2FrameStream endsStream(Object message) {
        if (message instanceof Http2DataFrame data) {
            return data.isEndStream() ? data.stream() : null;
        }
        if (message instanceof Http2HeadersFrame head) {
            return head.isEndStream() ? head.stream() : null;
        }
        return null;
    }

    private void onUnread(ChannelHandlerContext context, Http2StreamFrame frame) {
        Http2FrameStream stream = frame.stream();
        Unread body = stream == null ? null : unread.get(stream.id());
        if (body == null || !(frame instanceof Http2DataFrame data)) {
            return;
        }
        body.bytes += data.content().readableBytes();
        if (body.bytes > EdgeRules.UNREAD_MAX_BYTES) {
            giveUp(context, body);
        }
    }

    private void giveUp(ChannelHandlerContext context, Unread body) {
        unread.remove(body.stream.id());
        boolean answered = body.stream.state() == Http2Stream.State.HALF_CLOSED_LOCAL;
        reset(context, body.stream, answered ? Http2Error.NO_ERROR : Http2Error.CANCEL);
    }

    private static void reset(ChannelHandlerContext context, Http2FrameStream stream, Http2Error error) {
        context.writeAndFlush(new DefaultHttp2ResetFrame(error).stream(stream));
    }

    private void streamClosed(int id) {
        unread.remove(id);
        if (codec.connection().numActiveStreams() == 0) {
            idleSince = connection.now();
            arm();
        }
    }

    // ---------------------------------------------------------------- time

    /** Bytes have come, and been decoded as far as they go. */
    void bytesRead(boolean nowInHead) {
        if (nowInHead == inHead) {
            return;
        }
        inHead = nowInHead;
        headSince = asked ? connection.now() : connection.openedAt();
        arm();
    }

    /** Until the first request, the time from the connection on is running. */
    private void arm() {
        if (!asked) {
            return;
        }
        long now = connection.now();
        long left = Long.MAX_VALUE;
        if (inHead) {
            left = headSince + rules.headNanos() - now;
        }
        for (Unread body : unread.values()) {
            left = Math.min(left, body.since + rules.headNanos() - now);
        }
        if (codec.connection().numActiveStreams() == 0) {
            left = Math.min(left, idleSince + idleNanos() - now);
        }
        if (left == Long.MAX_VALUE) {
            connection.expireNever();
        } else {
            connection.expireIn(Math.max(0, left));
        }
    }

    private long idleNanos() {
        return goingAway ? EdgeRules.GOING_AWAY_NANOS : rules.keepAliveNanos();
    }

    @Override
    public void expired() {
        ChannelHandlerContext context = context();
        long now = connection.now();
        if (inHead && now - headSince >= rules.headNanos()) {
            connection.refused(Reason.CLIENT_TOO_SLOW, null, null, now - headSince);
            // The codec closes the connection behind it.
            context.writeAndFlush(new DefaultHttp2GoAwayFrame(Http2Error.ENHANCE_YOUR_CALM));
            return;
        }
        if (!asked || (codec.connection().numActiveStreams() == 0 && now - idleSince >= idleNanos())) {
            if (goingAway) {
                context.write(new DefaultHttp2GoAwayFrame(Http2Error.NO_ERROR));
            }
            context.close();
            return;
        }
        for (Unread body : List.copyOf(unread.values())) {
            if (now - body.since >= rules.headNanos()) {
                giveUp(context, body);
            }
        }
        arm();
    }

    /** New streams are not to be opened; those that are on their way, and those that are there, are served. */
    @Override
    public void drain() {
        if (goingAway) {
            return;
        }
        goingAway = true;
        if (codec.connection().numActiveStreams() == 0) {
            idleSince = connection.now();
        }
        context().writeAndFlush(new DefaultHttp2GoAwayFrame(Http2Error.NO_ERROR).setExtraStreamIds(Integer.MAX_VALUE));
        arm();
    }

    // ---------------------------------------------------------------- violations

    /** The codec tells of what closes a connection, and of what ends a stream that is known. */
    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        if (cause instanceof Http2FrameStreamException violation) {
            // Whoever serves the stream finds it closed, and answers nothing.
            reset(context, violation.stream(), violation.error());
            return;
        }
        if (cause instanceof IOException) {
            // The caller has reset its connection, as it may: that it is closed is told by its becoming inactive.
            return;
        }
        Http2Exception ending = violation(cause);
        if (ending == null) {
            context.fireExceptionCaught(cause);
        } else if (isCallersFault(ending.error().code())) {
            connection.refused(Reason.BAD_REQUEST, null, null, 0);
        }
    }

    private static @Nullable Http2Exception violation(Throwable cause) {
        for (Throwable each = cause; each != null; each = each.getCause()) {
            if (each instanceof Http2Exception found) {
                return found;
            }
        }
        return null;
    }

    /** What is left are the gateway's own, and what happens in passing: a stream that is cancelled or refused, or just closed. */
    private static boolean isCallersFault(long error) {
        return error == Http2Error.PROTOCOL_ERROR.code()
                || error == Http2Error.FLOW_CONTROL_ERROR.code()
                || error == Http2Error.FRAME_SIZE_ERROR.code()
                || error == Http2Error.COMPRESSION_ERROR.code()
                || error == Http2Error.ENHANCE_YOUR_CALM.code();
    }

    /** Sees every reset that is written, those of streams that nobody but the codec has known included. */
    private final class Violations implements Http2LifecycleManager {

        @Override
        public void closeStreamLocal(Http2Stream stream, ChannelFuture future) {
            codec.closeStreamLocal(stream, future);
        }

        @Override
        public void closeStreamRemote(Http2Stream stream, ChannelFuture future) {
            codec.closeStreamRemote(stream, future);
        }

        @Override
        public void closeStream(Http2Stream stream, ChannelFuture future) {
            codec.closeStream(stream, future);
        }

        @Override
        public ChannelFuture resetStream(
                ChannelHandlerContext context, int streamId, long errorCode, ChannelPromise promise) {
            if (isCallersFault(errorCode)) {
                connection.refused(Reason.BAD_REQUEST, null, null, 0);
            }
            return codec.resetStream(context, streamId, errorCode, promise);
        }

        @Override
        public ChannelFuture goAway(
                ChannelHandlerContext context,
                int lastStreamId,
                long errorCode,
                ByteBuf debugData,
                ChannelPromise promise) {
            return codec.goAway(context, lastStreamId, errorCode, debugData, promise);
        }

        @Override
        public void onError(ChannelHandlerContext context, boolean outbound, Throwable cause) {
            codec.onError(context, outbound, cause);
        }
    }

    private ChannelHandlerContext context() {
        ChannelHandlerContext context = ctx;
        if (context == null) {
            throw new IllegalStateException("guard: not in a pipeline (expected: in the one of its connection)");
        }
        return context;
    }
}
