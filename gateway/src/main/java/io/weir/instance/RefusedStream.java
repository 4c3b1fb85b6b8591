package io.weir.instance;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2FrameCodec;
import io.netty.handler.codec.http2.Http2GoAwayFrame;
import io.netty.handler.codec.http2.Http2ResetFrame;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.util.AttributeKey;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Notices that the backend has refused an HTTP/2 stream without processing it: the stream is above the last
 * one that a GOAWAY names, or was reset with {@code REFUSED_STREAM}. The request may then be sent again (RFC
 * 9113, 6.8 and 8.7).
 *
 * <p>In every restart of a backend, some requests are on their way when the GOAWAY arrives.
 */
final class RefusedStream extends ChannelInboundHandlerAdapter {

    private static final AttributeKey<Failure> FAILURE = AttributeKey.valueOf(RefusedStream.class, "failure");

    /** The backend has refused a stream. */
    static final class Failure extends IOException {

        private static final long serialVersionUID = 1;

        private final boolean isByGoAway;

        private Failure(boolean isByGoAway) {
            super(isByGoAway ? "stream refused by GOAWAY" : "stream refused");
            this.isByGoAway = isByGoAway;
        }

        /** Whether the backend ends the connection, which is no failure of the backend. */
        boolean isByGoAway() {
            return isByGoAway;
        }

        @Override
        public Throwable fillInStackTrace() {
            return this;
        }
    }

    /** The refusal of the stream of a channel; null: none, or no stream. */
    static @Nullable Failure of(Channel channel) {
        if (!(channel instanceof Http2StreamChannel stream)) {
            return null;
        }
        Failure known = channel.attr(FAILURE).get();
        return known == null && isBeyondGoAway(stream) ? new Failure(true) : known;
    }

    /** Whether the backend has named a lower stream as the last one that it processes. */
    private static boolean isBeyondGoAway(Http2StreamChannel stream) {
        Channel parent = stream.parent();
        Http2FrameCodec codec = parent == null ? null : parent.pipeline().get(Http2FrameCodec.class);
        if (codec == null) {
            return false;
        }
        Http2Connection connection = codec.connection();
        int id = stream.stream().id();
        return connection.goAwayReceived() && (id < 0 || id > connection.local().lastStreamKnownByPeer());
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
        if (event instanceof Http2GoAwayFrame) {
            mark(context, true);
        } else if (event instanceof Http2ResetFrame reset && reset.errorCode() == Http2Error.REFUSED_STREAM.code()) {
            mark(context, false);
        }
        context.fireUserEventTriggered(event);
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        // Read now: a closed connection has no codec any more.
        if (context.channel() instanceof Http2StreamChannel stream && isBeyondGoAway(stream)) {
            mark(context, true);
        }
        context.fireChannelInactive();
    }

    private static void mark(ChannelHandlerContext context, boolean isByGoAway) {
        context.channel().attr(FAILURE).setIfAbsent(new Failure(isByGoAway));
    }
}
