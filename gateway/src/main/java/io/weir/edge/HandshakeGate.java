package io.weir.edge;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import org.jspecify.annotations.Nullable;

/**
 * Holds back the first bytes of a TLS connection until its event loop may begin another handshake, which
 * costs as much as several requests. Removes itself with the first bytes that it passes on. The time-out of
 * the first head bounds the wait.
 */
// Concurrency: confined to the connection's event loop.
final class HandshakeGate extends ChannelInboundHandlerAdapter implements Runnable {

    private final EdgeShedding shedding;
    private @Nullable ChannelHandlerContext ctx;
    /** The bytes that wait; at most one read, since nothing more is read meanwhile. */
    private @Nullable Object held;

    private boolean isReadHeld;

    HandshakeGate(EdgeShedding shedding) {
        this.shedding = shedding;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
        ctx = context;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (held != null) {
            // The loop of reads of one event continues even if nothing more is asked for.
            pass(context);
            context.fireChannelRead(message);
        } else if (shedding.takeTurn(context.channel().eventLoop(), this)) {
            context.pipeline().remove(this);
            context.fireChannelRead(message);
        } else {
            held = message;
        }
    }

    /** TLS asks for more bytes when a read has brought none; it asks after the held bytes instead. */
    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        if (held == null) {
            context.fireChannelReadComplete();
        } else {
            isReadHeld = true;
        }
    }

    /** The turn has come. */
    @Override
    public void run() {
        ChannelHandlerContext context = ctx;
        if (context != null && held != null) {
            pass(context);
        }
    }

    private void pass(ChannelHandlerContext context) {
        Object message = held;
        held = null;
        shedding.leaveTurns(context.channel().eventLoop(), this);
        context.fireChannelRead(message);
        if (isReadHeld) {
            context.fireChannelReadComplete();
        }
        if (!context.isRemoved()) {
            context.pipeline().remove(this);
        }
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext context) {
        Object message = held;
        held = null;
        if (message != null) {
            shedding.leaveTurns(context.channel().eventLoop(), this);
            ReferenceCountUtil.release(message);
        }
    }
}
