package io.weir.edge;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.MaxMessagesRecvByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.ServerChannelRecvByteBufAllocator;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Limits the connections that the listening socket accepts while the gateway sheds: {@value #PER_MILLISECOND}
 * for each millisecond, and at least {@value #AT_LEAST} in one iteration of its event loop. The others wait
 * in the kernel's backlog.
 *
 * <p>The limit follows the time, and not only the iterations: an overloaded event loop has few iterations.
 * With one connection for each of them, as Netty's epoll transport accepts by default, 500 callers of a
 * gateway that refused 20 000 requests a second waited for up to 6 s to be accepted. So the socket needs the
 * {@link #allocator()}, which lets Netty accept several connections at a time.
 *
 * <p>Netty may repeat that within the same iteration. So this handler changes the number, and pauses the
 * socket until the next iteration. It sees the begin of an overload with the first accept after it.
 */
// Concurrency: confined to the event loop of the listening socket.
final class AcceptLimiter extends ChannelInboundHandlerAdapter {

    static final int AT_LEAST = 8;
    static final int PER_MILLISECOND = 1;

    private static final long LONGEST_MILLIS = 1000;
    private static final int USUAL = 16;

    private final EdgeShedding shedding;
    private boolean isLimited;
    private long allowedAt;

    AcceptLimiter(EdgeShedding shedding) {
        this.shedding = shedding;
    }

    /** Lets the listening socket accept up to {@value #USUAL} connections at a time, as long as any waits. */
    static RecvByteBufAllocator allocator() {
        return new ServerChannelRecvByteBufAllocator()
                .respectMaybeMoreData(false)
                .maxMessagesPerRead(USUAL);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        boolean sheds = shedding.isShedding();
        MaxMessagesRecvByteBufAllocator accepts = context.channel().config().getRecvByteBufAllocator();
        if (sheds) {
            if (!isLimited) {
                allowedAt = context.executor().ticker().nanoTime();
            }
            context.channel().config().setAutoRead(false);
            resumeInNextIteration(context, accepts);
        } else if (isLimited) {
            accepts.maxMessagesPerRead(USUAL);
        }
        isLimited = sheds;
        context.fireChannelReadComplete();
    }

    @SuppressWarnings("FutureReturnValueIgnored") // The task does not throw.
    private void resumeInNextIteration(ChannelHandlerContext context, MaxMessagesRecvByteBufAllocator accepts) {
        try {
            // Unlike a task that is executed, a timer that is due runs in the next iteration.
            context.executor().schedule(() -> resume(context, accepts), 0, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            // The event loop has stopped, and the socket with it.
            context.fireExceptionCaught(e);
        }
    }

    private void resume(ChannelHandlerContext context, MaxMessagesRecvByteBufAllocator accepts) {
        long now = context.executor().ticker().nanoTime();
        long millis = Math.min(LONGEST_MILLIS, TimeUnit.NANOSECONDS.toMillis(now - allowedAt));
        allowedAt = now;
        accepts.maxMessagesPerRead((int) Math.max(AT_LEAST, millis * PER_MILLISECOND));
        context.channel().config().setAutoRead(true);
    }
}
