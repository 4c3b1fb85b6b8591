package io.weir.instance;

import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.DefaultHttp2PingFrame;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameCodec;
import io.netty.handler.codec.http2.Http2FrameListener;
import io.netty.handler.codec.http2.Http2FrameListenerDecorator;
import io.netty.handler.codec.http2.Http2PingFrame;
import io.netty.util.AttributeKey;
import io.netty.util.concurrent.Future;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import reactor.netty.NettyPipeline;

/**
 * Notices that an HTTP/2 connection to a backend is silent: calls wait on it, and not even a PING is
 * answered. The path may have died without a FIN, such as when a NAT has forgotten it. All calls of a backend
 * share such a connection, so the backend would seem to hang. New calls and probes then use a new connection;
 * the silent one gets no more calls until it is heard again, and is closed after its last call.
 *
 * <p>A PING is sent when nothing has been received for the time of a connect time-out, and again after four
 * times as long, at most {@value #MAX_PINGS} times until something else is received: gRPC servers end a
 * connection that sends more.
 *
 * <p>A connection whose window the backend leaves exhausted for as long is no better: PINGs are answered, but
 * no body can be sent on it, because of one upload that the backend does not read.
 *
 * <p>One instance per connection, on its event loop.
 */
@SuppressWarnings("FutureReturnValueIgnored") // A failed write shows as silence.
final class SilentConnection extends ChannelDuplexHandler {

    private static final String NAME = "weir.silence";
    private static final AttributeKey<Boolean> IS_SILENT = AttributeKey.valueOf(SilentConnection.class, "isSilent");
    private static final int MAX_PINGS = 3;
    /** Two checks are at least one patience apart. */
    private static final int FIRST_PING = 2;

    /** After these, and one more, the window has been exhausted for two patiences at least. */
    private static final int EXHAUSTED_CHECKS = 2;

    private static final int LONGER = 4;

    private final long patienceNanos;
    private final Http2FrameCodec codec;
    /** The checks in a row at which nothing had been received since the one before. */
    private int quietChecks;
    /** The checks in a row at which the connection's window was exhausted, and had not been widened. */
    private int exhaustedChecks;

    private int checksBeforePing = FIRST_PING;
    private int pings;
    private boolean isPingUnanswered;
    /** A whole patience has passed since the PING. */
    private boolean isSilent;
    /** The connection gets no new calls. */
    private boolean isAvoided;

    private @Nullable Future<?> check;

    private SilentConnection(Duration patience, Http2FrameCodec codec) {
        this.patienceNanos = patience.toNanos();
        this.codec = codec;
    }

    /**
     * Watches a new connection.
     *
     * @param patience a time in which any backend answers a PING
     */
    static void watch(Channel connection, Duration patience) {
        Http2FrameCodec codec = connection.pipeline().get(Http2FrameCodec.class);
        if (codec != null) {
            SilentConnection watch = new SilentConnection(patience, codec);
            connection.pipeline().addAfter(NettyPipeline.HttpCodec, NAME, watch);
            codec.decoder().frameListener(watch.windowListener(codec.decoder().frameListener()));
        }
    }

    /** The codec passes on no window updates of the connection. */
    private Http2FrameListener windowListener(Http2FrameListener next) {
        return new Http2FrameListenerDecorator(next) {
            @Override
            public void onWindowUpdateRead(ChannelHandlerContext context, int streamId, int increment)
                    throws Http2Exception {
                if (streamId == Http2CodecUtil.CONNECTION_STREAM_ID) {
                    exhaustedChecks = 0;
                    received(context);
                }
                super.onWindowUpdateRead(context, streamId, increment);
            }
        };
    }

    /** Whether a connection must get no new calls. Thread-safe. */
    static boolean isSilent(Channel connection) {
        return Boolean.TRUE.equals(connection.attr(IS_SILENT).get());
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) throws Exception {
        if (check == null) {
            quietChecks = 0;
            schedule(context);
        }
        super.write(context, message, promise);
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
        received(context);
        if (!(message instanceof Http2PingFrame ping && ping.ack())) {
            pings = 0;
            checksBeforePing = FIRST_PING;
        }
        super.channelRead(context, message);
    }

    private void received(ChannelHandlerContext context) {
        quietChecks = 0;
        isPingUnanswered = false;
        isSilent = false;
        judge(context);
    }

    private void schedule(ChannelHandlerContext context) {
        check = context.executor().schedule(() -> check(context), patienceNanos, TimeUnit.NANOSECONDS);
    }

    private void check(ChannelHandlerContext context) {
        check = null;
        if (codec.connection().numActiveStreams() == 0 || !context.channel().isActive()) {
            return;
        }
        quietChecks++;
        exhaustedChecks = isExhausted() ? exhaustedChecks + 1 : 0;
        if (isPingUnanswered) {
            // Until the next frame is received.
            isSilent = true;
        } else if (quietChecks >= checksBeforePing && pings < MAX_PINGS) {
            pings++;
            checksBeforePing *= LONGER;
            isPingUnanswered = true;
            context.writeAndFlush(new DefaultHttp2PingFrame(pings));
        }
        judge(context);
        schedule(context);
    }

    private void judge(ChannelHandlerContext context) {
        boolean judgement = isSilent || exhaustedChecks > EXHAUSTED_CHECKS;
        if (judgement != isAvoided) {
            isAvoided = judgement;
            context.channel().attr(IS_SILENT).set(judgement);
        }
    }

    /** Whether no byte of a request can be sent, on any stream. */
    private boolean isExhausted() {
        Http2Connection connection = codec.connection();
        return connection.remote().flowController().windowSize(connection.connectionStream()) <= 0;
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext context) {
        Future<?> scheduled = check;
        if (scheduled != null) {
            scheduled.cancel(false);
        }
    }
}
