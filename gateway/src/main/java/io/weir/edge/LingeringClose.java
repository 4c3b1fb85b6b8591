package io.weir.edge;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.ssl.SslHandler;
import io.weir.edge.Http1ConnectionState.Phase;

/**
 * Closes an HTTP/1 connection so that the caller can still read the last response: flushes it, shuts down the
 * output, and drops input for a while. An immediate close with unread input would reset the connection, and
 * the response would be lost.
 *
 * <p>Concurrency: confined to the connection's event loop.
 */
@SuppressWarnings("FutureReturnValueIgnored") // A failed write or close shows as the channel's close.
final class LingeringClose {

    private final CallerConnection connection;
    private final Http1ConnectionState state;
    private final Http1Scanner scanner;

    private boolean awaitsEndOfRequest;
    private boolean hasRequestEnded;
    private boolean isFlushed;
    private long pendingBytes;

    LingeringClose(CallerConnection connection, Http1ConnectionState state, Http1Scanner scanner) {
        this.connection = connection;
        this.state = state;
        this.scanner = scanner;
    }

    /** Closes at once, unless the response is complete and the request is not. */
    void close(ChannelHandlerContext context, ChannelPromise promise) {
        if (!state.lingersOnClose() || !context.channel().isActive() || isReset(context)) {
            context.close(promise);
            return;
        }
        if (!promise.isVoid()) {
            context.channel().closeFuture().addListener(closed -> promise.trySuccess());
        }
        // Reactor Netty may write the response before it reads the end of a request without a body.
        start(context, state.awaitsEndOfAnsweredRequest());
    }

    /**
     * Starts to linger; no effect if the connection lingers already, or is closed.
     *
     * @param awaitsEnd whether the connection may close as soon as the end of the last request arrives
     */
    void start(ChannelHandlerContext context, boolean awaitsEnd) {
        if (state.phase() == Phase.LINGERING || !context.channel().isActive()) {
            return;
        }
        state.enter(Phase.LINGERING);
        state.abandonBody();
        awaitsEndOfRequest = awaitsEnd;
        pendingBytes = pendingBytes(context);
        connection.setTimeout(EdgeRules.LINGER_NANOS);
        scanner.dropInput();
        scanner.flush(flush -> {
            isFlushed = true;
            if (hasRequestEnded) {
                context.close();
            } else {
                connection.setTimeout(EdgeRules.LINGER_NANOS);
                shutdownOutput(context);
            }
        });
    }

    /** The end of the last request has arrived. */
    void onRequestEnd(ChannelHandlerContext context) {
        if (!awaitsEndOfRequest) {
            return;
        }
        hasRequestEnded = true;
        if (isFlushed) {
            context.close();
        }
    }

    /** Closes the connection, unless the caller is still reading the response. */
    void onTimeout(ChannelHandlerContext context) {
        long pending = pendingBytes(context);
        if (isFlushed || pending == pendingBytes) {
            context.close();
        } else {
            pendingBytes = pending;
            connection.setTimeout(EdgeRules.LINGER_NANOS);
        }
    }

    /** Resets the connection: the caller must not take an incomplete response for a complete one. */
    static void reset(ChannelHandlerContext context) {
        context.channel().config().setOption(ChannelOption.SO_LINGER, 0);
        context.close();
    }

    /** Whether the next close resets the connection. */
    private static boolean isReset(ChannelHandlerContext context) {
        Integer linger = context.channel().config().getOption(ChannelOption.SO_LINGER);
        return linger != null && linger == 0;
    }

    private static long pendingBytes(ChannelHandlerContext context) {
        ChannelOutboundBuffer pending = context.channel().unsafe().outboundBuffer();
        return pending == null ? 0 : pending.totalPendingWriteBytes();
    }

    private static void shutdownOutput(ChannelHandlerContext context) {
        SslHandler tls = context.pipeline().get(SslHandler.class);
        if (tls != null) {
            tls.closeOutbound().addListener(closed -> shutdownSocket(context));
        } else {
            shutdownSocket(context);
        }
    }

    private static void shutdownSocket(ChannelHandlerContext context) {
        if (context.channel() instanceof DuplexChannel socket && socket.isActive()) {
            socket.shutdownOutput();
        }
    }
}
