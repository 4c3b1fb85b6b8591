package io.weir.instance;

import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.DefaultHttp2PingFrame;
import io.netty.handler.codec.http2.Http2FrameCodec;
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
 * <p>One instance per connection, on its event loop.
 */
@SuppressWarnings("FutureReturnValueIgnored") // A failed write shows as silence.
final class SilentConnection extends ChannelDuplexHandler {

    private static final String NAME = "weir.silence";
    private static final AttributeKey<Boolean> IS_SILENT = AttributeKey.valueOf(SilentConnection.class, "isSilent");
    private static final int MAX_PINGS = 3;
    /** Two checks are at least one patience apart. */
    private static final int FIRST_PING = 2;

    private static final int LONGER = 4;

    private final long patienceNanos;
    private final Http2FrameCodec codec;
    /** The checks in a row at which nothing had been received since the one before. */
    private int quietChecks;

    private int checksBeforePing = FIRST_PING;
    private int pings;
    private boolean isPingUnanswered;
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
            connection.pipeline().addAfter(NettyPipeline.HttpCodec, NAME, new SilentConnection(patience, codec));
        }
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
        quietChecks = 0;
        if (isPingUnanswered) {
            isPingUnanswered = false;
            context.channel().attr(IS_SILENT).set(null);
        }
        if (!(message instanceof Http2PingFrame ping && ping.ack())) {
            pings = 0;
            checksBeforePing = FIRST_PING;
        }
        super.channelRead(context, message);
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
        if (isPingUnanswered) {
            // Until the next frame is received.
            context.channel().attr(IS_SILENT).set(true);
        } else if (quietChecks >= checksBeforePing && pings < MAX_PINGS) {
            pings++;
            checksBeforePing *= LONGER;
            isPingUnanswered = true;
            context.writeAndFlush(new DefaultHttp2PingFrame(pings));
        }
        schedule(context);
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext context) {
        Future<?> scheduled = check;
        if (scheduled != null) {
            scheduled.cancel(false);
        }
    }
}
