package io.weir.instance;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.websocketx.CloseWebSocketFrame;
import io.netty.handler.codec.http.websocketx.CorruptedWebSocketFrameException;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import io.netty.handler.codec.http.websocketx.WebSocketFrameDecoder;
import io.netty.util.ReferenceCountUtil;

/**
 * Fails a WebSocket whose peer sends a close frame with reserved bits, although no extension was agreed
 * (RFC 6455, 5.2). Netty's decoder allows such bits. Frames with data pass with theirs, and the other side
 * judges them; a close frame is answered by the gateway. Confined to the event loop of the connection.
 */
public final class CloseFrameCheck extends ChannelInboundHandlerAdapter {

    private static final String NAME = "weir.closeFrameCheck";

    private boolean hasFailed;

    private CloseFrameCheck() {}

    /** Checks the frames that a connection receives from now on. Its WebSocket is open. */
    public static void install(Channel connection) {
        WebSocketFrameDecoder decoder = connection.pipeline().get(WebSocketFrameDecoder.class);
        if (decoder != null) {
            String name = connection.pipeline().context(decoder).name();
            connection.pipeline().addAfter(name, NAME, new CloseFrameCheck());
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (hasFailed) {
            ReferenceCountUtil.release(message);
        } else if (message instanceof CloseWebSocketFrame close && close.rsv() != 0) {
            hasFailed = true;
            close.release();
            CorruptedWebSocketFrameException violation = new CorruptedWebSocketFrameException(
                    WebSocketCloseStatus.PROTOCOL_ERROR, "a close frame with reserved bits");
            // Through the whole pipeline: the encoder may be behind this handler.
            context.channel()
                    .writeAndFlush(new CloseWebSocketFrame(violation.closeStatus(), violation.getMessage()))
                    .addListener(ChannelFutureListener.CLOSE);
            context.fireExceptionCaught(violation);
        } else {
            context.fireChannelRead(message);
        }
    }
}
