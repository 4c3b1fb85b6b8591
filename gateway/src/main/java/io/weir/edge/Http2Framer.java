package io.weir.edge;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Flags;
import io.netty.handler.codec.http2.Http2FrameTypes;
import java.nio.charset.StandardCharsets;

/**
 * Follows the bytes of an HTTP/2 connection from frame to frame, in front of the codec, which does not tell that a frame has begun: a head that does not come to
 * its end is known by nothing else.
 *
 * <p>On a connection without TLS it stands in front from the first byte, and leaves where that is not the beginning of HTTP/2's preface.
 */
final class Http2Framer extends ChannelInboundHandlerAdapter {

    private static final byte[] PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
    private static final int HEADER_BYTES = Http2CodecUtil.FRAME_HEADER_LENGTH;

    private final CallerConnection connection;
    private int prefaceBytes;
    private int headerBytes;
    private int left;
    private int type;
    private int flags;
    /** Header fields go on in the next frame. */
    private boolean continues;

    Http2Framer(CallerConnection connection) {
        this.connection = connection;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (!(message instanceof ByteBuf in)) {
            context.fireChannelRead(message);
            return;
        }
        if (prefaceBytes < PREFACE.length && !isPreface(in)) {
            context.fireChannelRead(in);
            context.pipeline().remove(this);
            return;
        }
        follow(in);
        context.fireChannelRead(in);
        if (connection.guard() instanceof Http2Guard guard) {
            guard.bytesRead(isInHead());
        }
    }

    /** Whether a head, or a frame that is no body, has begun and not ended. */
    boolean isInHead() {
        return continues || headerBytes > 0 || (left > 0 && type != Http2FrameTypes.DATA);
    }

    private boolean isPreface(ByteBuf in) {
        int length = Math.min(in.readableBytes(), PREFACE.length - prefaceBytes);
        for (int i = 0; i < length; i++) {
            if (in.getByte(in.readerIndex() + i) != PREFACE[prefaceBytes + i]) {
                return false;
            }
        }
        return true;
    }

    private void follow(ByteBuf in) {
        int i = in.readerIndex();
        int end = in.writerIndex();
        int preface = Math.min(end - i, PREFACE.length - prefaceBytes);
        prefaceBytes += preface;
        i += preface;
        while (i < end) {
            if (headerBytes == 0 && left > 0) {
                int skipped = Math.min(left, end - i);
                i += skipped;
                left -= skipped;
            } else {
                header(in.getUnsignedByte(i++));
            }
            if (left == 0 && headerBytes == 0) {
                endFrame();
            }
        }
    }

    /** Length (3), type, flags, stream (4). */
    private void header(int b) {
        switch (headerBytes) {
            case 0, 1, 2 -> left = left << 8 | b;
            case 3 -> type = b;
            case 4 -> flags = b;
            default -> {
                // The stream is the codec's business.
            }
        }
        headerBytes = headerBytes + 1 == HEADER_BYTES ? 0 : headerBytes + 1;
    }

    private void endFrame() {
        if (type == Http2FrameTypes.HEADERS || type == Http2FrameTypes.CONTINUATION) {
            continues = (flags & Http2Flags.END_HEADERS) == 0;
        }
        type = Http2FrameTypes.DATA;
    }
}
