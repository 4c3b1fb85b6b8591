package io.weir.edge;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Flags;
import io.netty.handler.codec.http2.Http2FrameTypes;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Scans the bytes of an HTTP/2 connection frame by frame in front of the codec, which does not tell that a
 * frame has begun. Only this handler detects a head that stalls. It checks each frame's header by {@link
 * Http2FrameRules}, and passes nothing on after a frame that ends the connection.
 *
 * <p>On a connection without TLS, it is in the pipeline from the first byte, and removes itself if the first
 * bytes are not HTTP/2's preface.
 */
final class Http2Scanner extends ChannelInboundHandlerAdapter {

    private static final byte[] PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
    private static final int HEADER_BYTES = Http2CodecUtil.FRAME_HEADER_LENGTH;

    private final CallerConnection connection;
    private int prefaceBytes;
    private int headerBytes;
    /** Bytes of the frame's payload that have not arrived. */
    private int remainingBytes;

    private int type;
    private int flags;
    private int streamId;
    /** The header block continues in the next frame. */
    private boolean isContinued;
    /** The guard has ended the connection. */
    private boolean isEnded;
    /** Null until there is a frame: most connections without TLS speak HTTP/1. */
    private @Nullable Http2FrameRules frames;

    Http2Scanner(CallerConnection connection) {
        this.connection = connection;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (!(message instanceof ByteBuf in)) {
            context.fireChannelRead(message);
            return;
        }
        if (isEnded) {
            in.release();
            return;
        }
        if (prefaceBytes < PREFACE.length && !isPreface(in)) {
            context.fireChannelRead(in);
            context.pipeline().remove(this);
            return;
        }
        Http2Error violation = scan(in);
        isEnded = violation != null;
        if (violation == null || !(connection.guard() instanceof Http2Guard)) {
            // The codec's first frame installs the guard of a connection without TLS.
            context.fireChannelRead(in);
        } else {
            in.release();
        }
        if (connection.guard() instanceof Http2Guard guard) {
            if (violation == null) {
                guard.onBytesDecoded(isInHead());
            } else {
                guard.endConnection(violation);
            }
        }
    }

    /** Whether a header block, or a frame other than DATA, has begun and not ended. */
    boolean isInHead() {
        return isContinued || headerBytes > 0 || (remainingBytes > 0 && type != Http2FrameTypes.DATA);
    }

    /** The rules of this connection's frames. */
    Http2FrameRules frames() {
        Http2FrameRules known = frames;
        if (known == null) {
            known = new Http2FrameRules(connection.rules(), connection::nowNanos);
            frames = known;
        }
        return known;
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

    /** Scans all bytes, or up to the first frame that ends the connection; returns that frame's error. */
    private @Nullable Http2Error scan(ByteBuf in) {
        int i = in.readerIndex();
        int end = in.writerIndex();
        int preface = Math.min(end - i, PREFACE.length - prefaceBytes);
        prefaceBytes += preface;
        i += preface;
        while (i < end) {
            if (headerBytes == 0 && remainingBytes > 0) {
                int skipped = Math.min(remainingBytes, end - i);
                i += skipped;
                remainingBytes -= skipped;
            } else {
                scanFrameHeader(in.getUnsignedByte(i++));
                if (headerBytes == 0) {
                    Http2Error violation = frames().check(type, flags, streamId, remainingBytes);
                    if (violation != null) {
                        return violation;
                    }
                }
            }
            if (remainingBytes == 0 && headerBytes == 0) {
                endFrame();
            }
        }
        return null;
    }

    /** A frame header: length (3 bytes), type (1), flags (1), stream (4). */
    private void scanFrameHeader(int b) {
        switch (headerBytes) {
            case 0, 1, 2 -> remainingBytes = remainingBytes << 8 | b;
            case 3 -> type = b;
            case 4 -> flags = b;
            case 5 -> streamId = b & 0x7f;
            default -> streamId = streamId << 8 | b;
        }
        headerBytes = headerBytes + 1 == HEADER_BYTES ? 0 : headerBytes + 1;
    }

    private void endFrame() {
        if (type == Http2FrameTypes.HEADERS || type == Http2FrameTypes.CONTINUATION) {
            isContinued = (flags & Http2Flags.END_HEADERS) == 0;
        }
        type = Http2FrameTypes.DATA;
    }
}
