package io.weir.instance;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http.websocketx.WebSocket13FrameEncoder;
import io.netty.handler.codec.http.websocketx.WebSocketFrameDecoder;
import io.netty.handler.codec.http.websocketx.WebSocketFrameEncoder;
import reactor.netty.Connection;
import reactor.netty.NettyPipeline;

/**
 * Passes on an answer that refuses a WebSocket handshake, like any other answer: head, body in parts,
 * trailers.
 *
 * <p>It replaces Reactor Netty's aggregator. That one aggregates every answer to a handshake, fails for
 * answers of more than 8 KiB, and keeps only the head after a failed handshake. This handler aggregates only
 * an answer that opens a WebSocket. A refusal reaches Reactor Netty's client in parts, and the client treats
 * it like the answer to any other request.
 *
 * <p>Netty's decoder of frames writes a close frame (1002) if the backend breaks the protocol (RFC 6455,
 * 7.1.7). On the client's side Netty puts its encoder behind the decoder, so that nothing encoded that frame,
 * and the backend did not receive it. This handler puts another encoder before the decoder.
 *
 * <p>Confined to the event loop of the backend's connection. The handshake is the connection's last request.
 */
public final class HandshakeAnswer extends HttpObjectAggregator {

    private static final int MAX_BYTES = 8192;
    private static final String ENCODER = "weir.closeFrameEncoder";

    private boolean isRefused;

    private HandshakeAnswer() {
        super(MAX_BYTES);
    }

    /** Installs a handler for the answer to the handshake that is about to be written, over HTTP/1.1. */
    public static HandshakeAnswer await(Connection connection) {
        HandshakeAnswer answer = new HandshakeAnswer();
        connection.addHandlerFirst(NettyPipeline.HttpAggregator, answer);
        return answer;
    }

    /** Whether the backend has refused the handshake. Known after the answer's head has arrived. */
    public boolean isRefused() {
        return isRefused;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
        if (message instanceof HttpResponse head && head.status().codeClass() != HttpStatusClass.INFORMATIONAL) {
            isRefused = true;
            removeFrameEncoder(context.pipeline());
        }
        if (!isRefused) {
            // Handling the answer's end removes this handler.
            ChannelPipeline pipeline = context.pipeline();
            super.channelRead(context, message);
            encodeCloseFrames(pipeline);
        } else if (message == LastHttpContent.EMPTY_LAST_CONTENT) {
            // Reactor Netty mistakes this constant for the end of a successful handshake, and drops it.
            context.fireChannelRead(new DefaultLastHttpContent());
        } else {
            context.fireChannelRead(message);
        }
    }

    /** Lets the decoder's own close frame reach the backend, once the WebSocket is open. */
    private static void encodeCloseFrames(ChannelPipeline pipeline) {
        WebSocketFrameDecoder decoder = pipeline.get(WebSocketFrameDecoder.class);
        if (decoder != null) {
            pipeline.addBefore(
                    pipeline.context(decoder).name(), ENCODER, new WebSocket13FrameEncoder(/* maskPayload= */ true));
            CloseFrameCheck.install(pipeline.channel());
        }
    }

    /**
     * Prevents the close frame that Reactor Netty writes if the body is cancelled: nothing encodes it any
     * more.
     */
    private static void removeFrameEncoder(ChannelPipeline pipeline) {
        WebSocketFrameEncoder encoder = pipeline.get(WebSocketFrameEncoder.class);
        if (encoder != null) {
            pipeline.remove(encoder);
        }
    }
}
