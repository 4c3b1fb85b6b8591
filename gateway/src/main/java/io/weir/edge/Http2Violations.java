package io.weir.edge;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2LifecycleManager;
import io.netty.handler.codec.http2.Http2Stream;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Reports the caller's violations of HTTP/2 that Netty's codec answers with a reset. It wraps the codec's
 * lifecycle manager, and so sees every reset that is written, including resets of streams that only the codec
 * knows.
 */
final class Http2Violations implements Http2LifecycleManager {

    /** Receives the resets of streams. */
    interface ResetListener {

        /** A stream is about to be reset. */
        void onReset(int streamId, long errorCode);
    }

    private final Http2LifecycleManager codec;
    private final ResetListener resets;
    private final Consumer<Http2Error> onError;

    /**
     * Wraps a codec.
     *
     * @param resets receives, on the event loop, each stream before its reset, with the error
     * @param onError receives, on the event loop, the errors for which the encoder ends the connection
     */
    Http2Violations(Http2LifecycleManager codec, ResetListener resets, Consumer<Http2Error> onError) {
        this.codec = codec;
        this.resets = resets;
        this.onError = onError;
    }

    /** The first {@link Http2Exception} among the causes of a failure; null if there is none. */
    static @Nullable Http2Exception find(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof Http2Exception violation) {
                return violation;
            }
        }
        return null;
    }

    /**
     * Whether the caller caused an error. The other codes are the gateway's own, or part of normal operation:
     * a stream that is cancelled, refused, or just closed.
     */
    static boolean isCallersFault(long errorCode) {
        return errorCode == Http2Error.PROTOCOL_ERROR.code()
                || errorCode == Http2Error.FLOW_CONTROL_ERROR.code()
                || errorCode == Http2Error.FRAME_SIZE_ERROR.code()
                || errorCode == Http2Error.COMPRESSION_ERROR.code()
                || errorCode == Http2Error.ENHANCE_YOUR_CALM.code();
    }

    @Override
    public ChannelFuture resetStream(
            ChannelHandlerContext context, int streamId, long errorCode, ChannelPromise promise) {
        resets.onReset(streamId, errorCode);
        return codec.resetStream(context, streamId, errorCode, promise);
    }

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
        Http2Exception error = find(cause);
        if (error != null && error.error() == Http2Error.ENHANCE_YOUR_CALM) {
            // The caller does not read the answers to its control frames.
            onError.accept(error.error());
        }
        codec.onError(context, outbound, cause);
    }
}
