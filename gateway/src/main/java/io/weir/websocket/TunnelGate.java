package io.weir.websocket;

import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.MaxMessagesRecvByteBufAllocator;
import io.netty.handler.codec.http.websocketx.CloseWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketFrameDecoder;
import java.util.concurrent.RejectedExecutionException;

/**
 * Reads one side of a tunnel only while the other side is writable, and all frames that were read are passed
 * on. So a tunnel whose peer does not read holds what makes its connection not writable, 64 KB, and what one
 * read has brought. Reactor Netty counts frames, whatever their size: its reader holds up to 32, and its
 * writer up to 128.
 *
 * <p>The gate switches {@code autoRead} off, as Reactor Netty's reader does when it has frames that nobody
 * has asked for. The two do not conflict: while such frames exist, the gate stays closed.
 *
 * <p>Once the other side has closed, everything is read: this side's own close must be seen.
 *
 * <p>Concurrency: confined to the event loop of the side that is read. The events of the other side hop to
 * it.
 */
public final class TunnelGate extends ChannelDuplexHandler {

    private static final String NAME = "weir.tunnel-gate";

    private final Channel from;
    private final Channel to;
    /**
     * Frames that were read, and that Reactor Netty's reader has not passed on. Those before the gate was
     * installed, which are passed on first, do not count.
     */
    private int held;

    private boolean isReadWaiting;

    /**
     * A gate between the two sides, for the frames of one direction.
     *
     * @param from the side that is read; its WebSocket is open
     * @param to the side that is written
     */
    public TunnelGate(Channel from, Channel to) {
        this.from = from;
        this.to = to;
    }

    /** Puts the gate into force. */
    public void install() {
        WebSocketFrameDecoder decoder = from.pipeline().get(WebSocketFrameDecoder.class);
        if (decoder == null) {
            // The connection has closed.
            return;
        }
        if (from.config().getRecvByteBufAllocator() instanceof MaxMessagesRecvByteBufAllocator reads) {
            // Further ones would not ask the gate.
            reads.maxMessagesPerRead(1);
        }
        from.pipeline().addAfter(from.pipeline().context(decoder).name(), NAME, this);
        to.pipeline().addFirst(new ChannelInboundHandlerAdapter() {
            @Override
            public void channelWritabilityChanged(ChannelHandlerContext context) throws Exception {
                tryAgain();
                super.channelWritabilityChanged(context);
            }

            @Override
            public void channelInactive(ChannelHandlerContext context) throws Exception {
                tryAgain();
                super.channelInactive(context);
            }
        });
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
        if (message instanceof WebSocketFrame && !(message instanceof CloseWebSocketFrame)) {
            held++;
        }
        super.channelRead(context, message);
    }

    /** Reactor Netty's reader passes on a frame. */
    public void passed() {
        held = Math.max(0, held - 1);
        openIfPossible();
    }

    @Override
    public void read(ChannelHandlerContext context) throws Exception {
        if (isOpen()) {
            super.read(context);
        } else {
            isReadWaiting = true;
            from.config().setAutoRead(false);
        }
    }

    private boolean isOpen() {
        return (held == 0 && to.isWritable()) || !to.isActive();
    }

    private void openIfPossible() {
        if (isReadWaiting && isOpen()) {
            isReadWaiting = false;
            from.config().setAutoRead(true);
        }
    }

    private void tryAgain() {
        try {
            from.eventLoop().execute(this::openIfPossible);
        } catch (RejectedExecutionException e) {
            // The event loop has stopped with the gateway, and the tunnel with it.
        }
    }
}
