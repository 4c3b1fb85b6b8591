package io.weir.edge;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.DefaultHttp2GoAwayFrame;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.DefaultHttp2WindowUpdateFrame;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2ConnectionAdapter;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameCodec;
import io.netty.handler.codec.http2.Http2FrameStream;
import io.netty.handler.codec.http2.Http2FrameStreamException;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2Stream;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.io.IOException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Enforces the edge's rules on an HTTP/2 connection, between the codec and the streams.
 *
 * <p>The codec answers malformed input with a stream reset or by closing the connection; this handler reports
 * that to the listener. Requests that the codec accepts but the rules forbid are refused here, in the same
 * form as every other refusal. An unwanted body is dropped up to a limit; beyond it, the stream is reset
 * without an error (RFC 9113, 8.1). If the caller does not read a refusal, its stream is reset with an error.
 *
 * <p>Concurrency: confined to the connection's event loop.
 */
@SuppressWarnings("FutureReturnValueIgnored") // A failed write or close shows as the channel's close.
final class Http2Guard extends ChannelDuplexHandler implements CallerConnection.Guard {

    /**
     * Widens the connection's window from 64 KiB to 1 MiB, as Envoy recommends for an edge. Each stream's
     * window is 64 KiB. With the same window for the connection, one upload that its backend does not read
     * would hold up all other uploads of the connection.
     */
    private static final int MORE_WINDOW_BYTES = (1 << 20) - Http2CodecUtil.DEFAULT_WINDOW_SIZE;

    private final CallerConnection connection;
    private final EdgeRules rules;
    private final Http2FrameCodec codec;
    private final UnfinishedStreams unfinished;
    private final Http2FrameRules frames;

    private boolean hasRequest;
    private boolean isInHead;
    private long headSinceNanos;
    private long idleSinceNanos;
    private int lastRequestStream;
    private boolean isGoingAway;
    private boolean isFlooded;
    private @Nullable ChannelHandlerContext ctx;

    private Http2Guard(CallerConnection connection, Http2FrameCodec codec, Http2FrameRules frames) {
        this.connection = connection;
        this.rules = connection.rules();
        this.codec = codec;
        this.unfinished = new UnfinishedStreams(rules.headTimeoutNanos());
        this.frames = frames;
        this.idleSinceNanos = connection.nowNanos();
    }

    /** Guards a connection whose pipeline has an HTTP/2 codec, before its first byte. */
    static void install(ChannelPipeline pipeline, CallerConnection connection) {
        String codec = pipeline.context(Http2FrameCodec.class).name();
        pipeline.addBefore(codec, null, new Http2Scanner(connection));
        installAfter(codec, pipeline, connection);
    }

    /** Guards a connection that has an {@link Http2Scanner} already. */
    static void installAfter(String handler, ChannelPipeline pipeline, CallerConnection connection) {
        Http2FrameRules frames = pipeline.get(Http2Scanner.class).frames();
        Http2Guard guard = new Http2Guard(connection, pipeline.get(Http2FrameCodec.class), frames);
        pipeline.addAfter(handler, null, guard);
        connection.setGuard(guard);
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
        codec.encoder().lifecycleManager(new Http2Violations(codec, this::onReset, this::reportError));
    }

    // ---------------------------------------------------------------- requests

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (message instanceof Http2HeadersFrame head && head.stream().id() > lastRequestStream) {
            lastRequestStream = head.stream().id();
            onRequest(context, head);
            return;
        }
        if (message instanceof Http2HeadersFrame trailers && refusesTrailers(context, trailers)) {
            return;
        }
        if (message instanceof Http2DataFrame data
                && unfinished.exceedsLimit(data.stream(), data.content().readableBytes())) {
            abandon(context, data.stream());
        }
        context.fireChannelRead(message);
    }

    private void onRequest(ChannelHandlerContext context, Http2HeadersFrame head) {
        if (!hasRequest) {
            context.writeAndFlush(new DefaultHttp2WindowUpdateFrame(MORE_WINDOW_BYTES));
        }
        hasRequest = true;
        if (frames.isReset(head.stream().id())) {
            // Trailers of a stream that the codec has refused look like a request to it.
            reset(context, head.stream(), Http2Error.STREAM_CLOSED);
            return;
        }
        if (!Http2RequestChecks.isWellFormed(head.headers())) {
            // The lifecycle manager reports it.
            reset(context, head.stream(), Http2Error.PROTOCOL_ERROR);
            return;
        }
        Refusal bad = Http2RequestChecks.check(head.headers(), rules);
        Refusal refusal = bad == null ? rules.shedding().refusal(context.channel(), head.headers()) : bad;
        if (refusal != null) {
            refuse(context, head, refusal);
        } else {
            encodeIllegalPath(head.headers());
            context.fireChannelRead(head);
        }
        if (!isGoingAway && rules.drain().isClosingConnections()) {
            drain();
        }
    }

    /**
     * Resets a stream with too many trailers. The response may have begun, so there is no other answer; the
     * exchange ends as if the caller had left.
     */
    private boolean refusesTrailers(ChannelHandlerContext context, Http2HeadersFrame trailers) {
        Refusal bad = Http2RequestChecks.checkTrailers(trailers.headers(), rules);
        if (bad == null) {
            return false;
        }
        connection.reportRefusal(
                bad.reason(), RequestId.of(trailers.headers().get(RequestId.X_REQUEST_ID)), null, null, 0, 0);
        reset(context, trailers.stream(), Http2Error.ENHANCE_YOUR_CALM);
        return true;
    }

    private static void encodeIllegalPath(Http2Headers head) {
        String received = head.path().toString();
        String encoded = TargetEncoder.encode(received);
        if (!encoded.equals(received)) {
            head.path(encoded);
        }
    }

    private void refuse(ChannelHandlerContext context, Http2HeadersFrame head, Refusal bad) {
        Http2Refusal refusal = Http2Refusal.of(head.headers(), bad);
        refusal.report(connection);
        Http2FrameStream stream = head.stream();
        ChannelFuture written = refusal.write(context, stream);
        if (!head.isEndStream()) {
            // After the response: a reset overtakes frames that wait for the caller's flow-control window.
            written.addListener(answered -> {
                if (answered.isSuccess()) {
                    reset(context, stream, Http2Error.NO_ERROR);
                }
            });
        }
        context.flush();
        if (!written.isDone()) {
            unfinished.add(stream, connection.nowNanos());
            updateTimeout();
        }
    }

    // ---------------------------------------------------------------- responses and unread bodies

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        frames.written(message);
        Http2FrameStream stream = endedStream(message);
        if (stream != null && stream.state() == Http2Stream.State.OPEN) {
            context.write(message, promise.unvoid()).addListener(answered -> {
                if (stream.state() == Http2Stream.State.HALF_CLOSED_LOCAL) {
                    unfinished.add(stream, connection.nowNanos());
                    updateTimeout();
                }
            });
        } else {
            context.write(message, promise);
        }
    }

    /** The stream whose response this frame completes; null if it completes none. */
    private static @Nullable Http2FrameStream endedStream(Object message) {
        if (message instanceof Http2DataFrame data) {
            return data.isEndStream() ? data.stream() : null;
        }
        if (message instanceof Http2HeadersFrame head) {
            return head.isEndStream() ? head.stream() : null;
        }
        return null;
    }

    private void abandon(ChannelHandlerContext context, Http2FrameStream stream) {
        unfinished.remove(stream.id());
        boolean isAnswered = stream.state() == Http2Stream.State.HALF_CLOSED_LOCAL;
        reset(context, stream, isAnswered ? Http2Error.NO_ERROR : Http2Error.CANCEL);
    }

    private static void reset(ChannelHandlerContext context, Http2FrameStream stream, Http2Error error) {
        context.writeAndFlush(new DefaultHttp2ResetFrame(error).stream(stream));
    }

    private void streamClosed(int id) {
        unfinished.remove(id);
        if (hasNoStreams()) {
            idleSinceNanos = connection.nowNanos();
            updateTimeout();
        }
    }

    // ---------------------------------------------------------------- time

    /**
     * The codec has decoded all bytes that have arrived; {@code nowInHead}: whether the last of them belong
     * to a head.
     */
    void onBytesDecoded(boolean nowInHead) {
        if (nowInHead == isInHead) {
            return;
        }
        isInHead = nowInHead;
        headSinceNanos = hasRequest ? connection.nowNanos() : connection.openedAtNanos();
        updateTimeout();
    }

    /**
     * Sets the timeout to the earliest deadline. Until the first request, the connection's initial timeout
     * stays.
     */
    private void updateTimeout() {
        if (!hasRequest) {
            return;
        }
        long now = connection.nowNanos();
        long nanos = unfinished.nanosUntilDeadline(now);
        if (isInHead) {
            nanos = Math.min(nanos, headSinceNanos + rules.headTimeoutNanos() - now);
        }
        if (hasNoStreams()) {
            nanos = Math.min(nanos, idleSinceNanos + idleTimeoutNanos() - now);
        }
        if (nanos == Long.MAX_VALUE) {
            connection.cancelTimeout();
        } else {
            connection.setTimeout(Math.max(0, nanos));
        }
    }

    private boolean hasNoStreams() {
        return codec.connection().numActiveStreams() == 0;
    }

    private long idleTimeoutNanos() {
        return isGoingAway ? EdgeRules.GOAWAY_GRACE_NANOS : rules.keepAliveTimeoutNanos();
    }

    @Override
    public void onTimeout() {
        ChannelHandlerContext context = context();
        long now = connection.nowNanos();
        if (isInHead && now - headSinceNanos >= rules.headTimeoutNanos()) {
            connection.reportRefusal(Reason.CLIENT_TOO_SLOW, "", null, null, now - headSinceNanos, 0);
            // The codec closes the connection after this frame.
            context.writeAndFlush(new DefaultHttp2GoAwayFrame(Http2Error.ENHANCE_YOUR_CALM));
            return;
        }
        if (!hasRequest || (hasNoStreams() && now - idleSinceNanos >= idleTimeoutNanos())) {
            if (isGoingAway) {
                context.write(new DefaultHttp2GoAwayFrame(Http2Error.NO_ERROR));
            }
            context.close();
            return;
        }
        unfinished.overdue(now).forEach(stream -> abandon(context, stream));
        updateTimeout();
    }

    /** Tells the caller to open no new streams; streams that are open or on their way are served. */
    @Override
    public void drain() {
        if (isGoingAway) {
            return;
        }
        isGoingAway = true;
        if (hasNoStreams()) {
            idleSinceNanos = connection.nowNanos();
        }
        context().writeAndFlush(new DefaultHttp2GoAwayFrame(Http2Error.NO_ERROR).setExtraStreamIds(Integer.MAX_VALUE));
        updateTimeout();
    }

    // ---------------------------------------------------------------- violations

    /** Gives the window of ignored bodies back to the caller; the codec has not seen them. */
    void onBodiesIgnored(int bytes) {
        ChannelHandlerContext context = context();
        codec.encoder()
                .frameWriter()
                .writeWindowUpdate(
                        context.pipeline().context(codec),
                        Http2CodecUtil.CONNECTION_STREAM_ID,
                        bytes,
                        context.newPromise());
        context.flush();
    }

    /** Ends the connection for an error of the caller. */
    void endConnection(Http2Error error) {
        reportError(error);
        // The codec closes the connection after this frame.
        context().writeAndFlush(new DefaultHttp2GoAwayFrame(error));
    }

    /** Handles errors of the codec: of the connection, and of streams that this handler knows. */
    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        if (cause instanceof Http2FrameStreamException violation) {
            // The stream's handlers see a closed stream, and send nothing.
            reset(context, violation.stream(), violation.error());
            return;
        }
        if (cause instanceof IOException) {
            // The caller has reset its connection, which is no violation; the channel becomes inactive.
            return;
        }
        Http2Exception violation = Http2Violations.find(cause);
        if (violation == null) {
            context.fireExceptionCaught(cause);
        } else {
            reportError(violation.error());
        }
    }

    /** A stream is about to be reset. */
    private void onReset(int streamId, long errorCode) {
        if (Http2Violations.isCallersFault(errorCode) && !frames.isReset(streamId)) {
            reportViolation();
        }
        if (!frames.mayReset(streamId, errorCode) && !isFlooded) {
            endConnection(Http2Error.ENHANCE_YOUR_CALM);
        }
    }

    /** Whether the caller has flooded the connection, which therefore ends. */
    boolean isFlooded() {
        return isFlooded;
    }

    /** Reports an error that ends the connection; a flood once. */
    private void reportError(Http2Error error) {
        if (error == Http2Error.ENHANCE_YOUR_CALM) {
            if (isFlooded) {
                return;
            }
            isFlooded = true;
            rules.listener().connectionFlooded(connection.remote());
        }
        if (error == Http2Error.STREAM_CLOSED || Http2Violations.isCallersFault(error.code())) {
            reportViolation();
        }
    }

    private void reportViolation() {
        connection.reportRefusal(Reason.BAD_REQUEST, "", null, null, 0, 0);
    }

    private ChannelHandlerContext context() {
        return Objects.requireNonNull(ctx, "guard: not in a pipeline");
    }
}
