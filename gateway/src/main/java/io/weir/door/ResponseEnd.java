package io.weir.door;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.util.concurrent.ScheduledFuture;
import io.weir.edge.LastResponseHandler;
import io.weir.engine.Exchange;
import java.util.concurrent.TimeUnit;
import reactor.netty.channel.ChannelOperations;

/**
 * How a response ends: flushed to the caller, or cut off by a reset. All methods are called on the channel's
 * event loop.
 */
final class ResponseEnd {

    private ResponseEnd() {}

    /** Resets the connection (RST) or the stream (RST_STREAM). */
    static void reset(Channel channel) {
        if (channel instanceof Http2StreamChannel) {
            channel.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.INTERNAL_ERROR))
                    .addListener(ChannelFutureListener.CLOSE);
        } else {
            // A regular close would look like the end of the response.
            channel.config().setOption(ChannelOption.SO_LINGER, 0);
            channel.unsafe().close(channel.voidPromise());
        }
    }

    /** Whether the caller has not left: its channel is open, or was closed after the last response. */
    static boolean isCallerPresent(Channel channel) {
        return channel.isActive() || LastResponseHandler.isLastResponseFlushed(channel);
    }

    /**
     * Tells the exchange when its response is flushed, or cannot be flushed. Reactor Netty has the whole
     * response already.
     *
     * @param wasPresent the value of {@link #isCallerPresent} before Reactor Netty got the end of the
     *     response
     */
    static void reportFlush(InboundRequest inbound, Exchange exchange, boolean wasPresent) {
        Channel channel = inbound.channel();
        if (wasPresent && isFlushed(channel)) {
            // The usual case: flushed during the write, and then closed if it was the last response.
            exchange.flushed();
            return;
        }
        if (exchange.isOver()) {
            limitReadTime(inbound);
            return;
        }
        ((ChannelOperations<?, ?>) inbound.response())
                .onTerminate()
                .subscribe(null, failure -> exchange.callerLeft(), () -> {
                    if (wasPresent && (!(channel instanceof Http2StreamChannel) || isFlushed(channel))) {
                        exchange.flushed();
                    } else {
                        exchange.callerLeft();
                    }
                });
    }

    /** Whether every byte of the response is flushed. */
    private static boolean isFlushed(Channel channel) {
        if (channel instanceof Http2StreamChannel) {
            return LastResponseHandler.isLastResponseFlushed(channel);
        }
        ChannelOutboundBuffer buffer = channel.unsafe().outboundBuffer();
        return buffer == null || buffer.totalPendingWriteBytes() == 0;
    }

    /**
     * Resets the gateway's own response, which no exchange supervises, if the caller does not read it in
     * time. Reactor Netty has the whole response already.
     */
    static void limitReadTime(InboundRequest inbound) {
        Channel channel = inbound.channel();
        if (!channel.isActive() || isFlushed(channel)) {
            return;
        }
        ScheduledFuture<?> limit =
                channel.eventLoop().schedule(() -> reset(channel), inbound.readIdleNanos(), TimeUnit.NANOSECONDS);
        ((ChannelOperations<?, ?>) inbound.response())
                .onTerminate()
                .subscribe(null, failure -> limit.cancel(false), () -> limit.cancel(false));
    }
}
