package io.weir.edge;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.MaxMessagesRecvByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Limits the connections that the listening socket accepts in one iteration of its event loop while the
 * gateway sheds. The others wait in the kernel's backlog.
 *
 * <p>Netty accepts up to 16 connections at a time, and its epoll transport repeats that within the same
 * iteration. So this handler lowers the number, and pauses the socket until the next iteration. It sees the
 * begin of an overload with the first accept after it.
 */
// Concurrency: confined to the event loop of the listening socket.
final class AcceptLimiter extends ChannelInboundHandlerAdapter {

    static final int PER_ITERATION = 8;

    private final EdgeShedding shedding;
    private int usual;
    private boolean isLimited;

    AcceptLimiter(EdgeShedding shedding) {
        this.shedding = shedding;
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        boolean sheds = shedding.isShedding();
        if (sheds != isLimited) {
            isLimited = sheds;
            limit(context);
        }
        if (sheds) {
            context.channel().config().setAutoRead(false);
            resumeInNextIteration(context);
        }
        context.fireChannelReadComplete();
    }

    private void limit(ChannelHandlerContext context) {
        RecvByteBufAllocator allocator = context.channel().config().getRecvByteBufAllocator();
        if (allocator instanceof MaxMessagesRecvByteBufAllocator accepts) {
            if (isLimited) {
                usual = accepts.maxMessagesPerRead();
            }
            accepts.maxMessagesPerRead(isLimited ? Math.min(usual, PER_ITERATION) : usual);
        }
    }

    @SuppressWarnings("FutureReturnValueIgnored") // The task does not throw.
    private static void resumeInNextIteration(ChannelHandlerContext context) {
        try {
            // Unlike a task that is executed, a timer that is due runs in the next iteration.
            context.executor().schedule(() -> context.channel().config().setAutoRead(true), 0, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            // The event loop has stopped, and the socket with it.
            context.fireExceptionCaught(e);
        }
    }
}
