package io.weir.edge;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Flags;
import io.netty.handler.codec.http2.Http2FrameTypes;

/**
 * A position in the bytes of an HTTP/2 connection after its preface: which frame it is in, and how far.
 *
 * <p>Concurrency: confined to the connection's event loop.
 */
final class Http2FrameCursor {

    static final int HEADER_BYTES = Http2CodecUtil.FRAME_HEADER_LENGTH;

    private int headerBytes;
    private int remainingBytes;
    private int type;
    private int flags;
    private int streamId;
    /** The header block continues in the next frame. */
    private boolean isContinued;

    /** Whether the position is in a payload; if not, it is at or in a frame's header. */
    boolean isInPayload() {
        return headerBytes == 0 && remainingBytes > 0;
    }

    /** Whether the position is in a frame's header, after its first byte. */
    boolean isInHeader() {
        return headerBytes > 0;
    }

    /** Whether a header block, or a frame other than DATA, has begun and not ended. */
    boolean isInHead() {
        return isContinued || headerBytes > 0 || (remainingBytes > 0 && type != Http2FrameTypes.DATA);
    }

    /** Whether the present frame belongs to a header block. */
    boolean isHead() {
        return type == Http2FrameTypes.HEADERS || type == Http2FrameTypes.CONTINUATION;
    }

    int type() {
        return type;
    }

    int flags() {
        return flags;
    }

    int streamId() {
        return streamId;
    }

    /** Bytes of the frame's payload after this position. */
    int remainingBytes() {
        return remainingBytes;
    }

    /** Goes on in a payload, at most to the end of the bytes; returns the number of bytes. */
    int skipPayload(int available) {
        int skipped = Math.min(remainingBytes, available);
        remainingBytes -= skipped;
        return skipped;
    }

    /**
     * Goes on in a frame's header, at most to the end of the bytes: length (3 bytes), type (1), flags (1),
     * stream (4). Returns the number of bytes.
     */
    int readHeader(ByteBuf in, int from, int end) {
        if (headerBytes == 0 && end - from >= HEADER_BYTES) {
            remainingBytes = in.getUnsignedMedium(from);
            type = in.getUnsignedByte(from + 3);
            flags = in.getUnsignedByte(from + 4);
            streamId = in.getInt(from + 5) & Integer.MAX_VALUE;
            return HEADER_BYTES;
        }
        int i = from;
        do {
            int b = in.getUnsignedByte(i++);
            switch (headerBytes) {
                case 0, 1, 2 -> remainingBytes = remainingBytes << 8 | b;
                case 3 -> type = b;
                case 4 -> flags = b;
                case 5 -> streamId = b & 0x7f;
                default -> streamId = streamId << 8 | b;
            }
            headerBytes = headerBytes + 1 == HEADER_BYTES ? 0 : headerBytes + 1;
        } while (headerBytes > 0 && i < end);
        return i - from;
    }

    /** Leaves the frame, if the position is at its end. */
    void endFrame() {
        if (remainingBytes > 0 || headerBytes > 0) {
            return;
        }
        if (isHead()) {
            isContinued = (flags & Http2Flags.END_HEADERS) == 0;
        }
        type = Http2FrameTypes.DATA;
    }
}
