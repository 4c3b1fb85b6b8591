package io.weir.instance;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http.websocketx.WebSocketFrameEncoder;
import reactor.netty.Connection;
import reactor.netty.NettyPipeline;

/**
 * Lets the answer that refuses a WebSocket pass as any other does: head, body as it comes, trailers.
 *
 * <p>It stands in the place of Reactor Netty's aggregator, which gathers whatever answers a handshake, fails where that is larger than 8 KiB, and of which
 * only the head outlives the handshake's failure. What opens a WebSocket is gathered as before. Of what does not, Reactor Netty's client makes an answer
 * like that to any other request, since what it is given is not a whole message.
 *
 * <p>Confined to the event loop of the backend's connection, of which it is the last request.
 */
public final class HandshakeAnswer extends HttpObjectAggregator {

    private static final int MAX_BYTES = 8192;

    private boolean refused;

    private HandshakeAnswer() {
        super(MAX_BYTES);
    }

    /** Waits for the answer to the handshake that is about to be written, over HTTP/1.1. */
    public static HandshakeAnswer await(Connection connection) {
        HandshakeAnswer answer = new HandshakeAnswer();
        connection.addHandlerFirst(NettyPipeline.HttpAggregator, answer);
        return answer;
    }

    /** Whether it opens no WebSocket. Known once its head has come. */
    public boolean isRefused() {
        return refused;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
        if (message instanceof HttpResponse head && head.status().codeClass() != HttpStatusClass.INFORMATIONAL) {
            refused = true;
            keepFramesOut(context.pipeline());
        }
        if (!refused) {
            super.channelRead(context, message);
        } else if (message == LastHttpContent.EMPTY_LAST_CONTENT) {
            // Reactor Netty takes this one for the end of what opens a WebSocket, and drops it.
            context.fireChannelRead(new DefaultLastHttpContent());
        } else {
            context.fireChannelRead(message);
        }
    }

    /** If the body is cancelled, Reactor Netty writes a close frame before it closes: now nothing makes bytes of that. */
    private static void keepFramesOut(ChannelPipeline pipeline) {
        WebSocketFrameEncoder encoder = pipeline.get(WebSocketFrameEncoder.class);
        if (encoder != null) {
            pipeline.remove(encoder);
        }
    }
}
