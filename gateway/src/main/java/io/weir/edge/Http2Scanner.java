package io.weir.edge;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
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
 * Http2FrameRules}, passes no frames on that those rules ignore, and nothing after a frame that ends the
 * connection.
 *
 * <p>A body and its head may arrive in one read. The codec must read the head first: whether it refuses the
 * stream decides whether the body is ignored. A frame's header that is incomplete is held back.
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
    /** The rules ignore the present frame. */
    private boolean isIgnored;
    /** The first bytes of a frame's header, which are not passed on yet. */
    private final byte[] heldHeader = new byte[HEADER_BYTES];

    private int heldBytes;
    /** The bytes of the present read before this index are passed on, held back, or ignored. */
    private int passedIndex;
    /** The bytes of bodies in the present read that the rules ignore. */
    private int ignoredBytes;
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
        scanAndPass(context, in);
    }

    private void scanAndPass(ChannelHandlerContext context, ByteBuf in) {
        ignoredBytes = 0;
        passedIndex = in.readerIndex();
        Http2Error violation = scan(context, in);
        isEnded = violation != null;
        if (violation == null || !(connection.guard() instanceof Http2Guard)) {
            // The codec's first frame installs the guard of a connection without TLS.
            passTo(in.writerIndex(), context, in);
        }
        in.release();
        if (connection.guard() instanceof Http2Guard guard) {
            if (ignoredBytes > 0) {
                guard.onBodiesIgnored(ignoredBytes);
            }
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

    /**
     * Scans all bytes, or up to the first frame that ends the connection; returns that frame's error. Passes
     * bytes on where a later frame requires it, and leaves the rest.
     */
    private @Nullable Http2Error scan(ChannelHandlerContext context, ByteBuf in) {
        int i = in.readerIndex();
        int end = in.writerIndex();
        int preface = Math.min(end - i, PREFACE.length - prefaceBytes);
        prefaceBytes += preface;
        i += preface;
        boolean hasUnpassedHead = false;
        while (i < end) {
            if (headerBytes == 0 && remainingBytes > 0) {
                int skipped = Math.min(remainingBytes, end - i);
                i += skipped;
                remainingBytes -= skipped;
                passedIndex = isIgnored ? i : passedIndex;
                hasUnpassedHead |= isHead();
            } else {
                int headerAt = i;
                i += scanFrameHeader(in, i, end);
                if (headerBytes > 0) {
                    passTo(headerAt, context, in);
                    hold(in, headerAt);
                    break;
                }
                if (hasUnpassedHead && Http2FrameRules.isIgnorable(type)) {
                    passTo(headerAt, context, in);
                    hasUnpassedHead = false;
                }
                Http2Error violation = frames().check(type, flags, streamId, remainingBytes);
                if (violation != null) {
                    return violation;
                }
                passOrIgnoreHeader(headerAt, i, context, in);
                hasUnpassedHead |= isHead();
            }
            if (remainingBytes == 0) {
                endFrame();
            }
        }
        return null;
    }

    /** A frame's header is complete, and ends before this index. */
    private void passOrIgnoreHeader(int from, int to, ChannelHandlerContext context, ByteBuf in) {
        isIgnored = frames().ignores(type, streamId);
        if (isIgnored) {
            passTo(from, context, in);
            passedIndex = to;
            ignoredBytes += type == Http2FrameTypes.DATA ? remainingBytes : 0;
        } else if (heldBytes > 0) {
            context.fireChannelRead(Unpooled.copiedBuffer(heldHeader, 0, heldBytes));
        }
        heldBytes = 0;
    }

    /** Keeps the first bytes of a frame's header: those of earlier reads, and the rest of this one. */
    private void hold(ByteBuf in, int from) {
        int length = in.writerIndex() - from;
        in.getBytes(from, heldHeader, heldBytes, length);
        heldBytes += length;
        passedIndex = in.writerIndex();
    }

    /** Passes the bytes on that are neither passed on yet nor ignored, up to this index. */
    private void passTo(int end, ChannelHandlerContext context, ByteBuf in) {
        int length = end - passedIndex;
        if (length == in.readableBytes()) {
            passedIndex = end;
            context.fireChannelRead(in.retain());
        } else if (length > 0) {
            ByteBuf part = in.retainedSlice(passedIndex, length);
            passedIndex = end;
            context.fireChannelRead(part);
        }
    }

    /**
     * Scans a frame's header: length (3 bytes), type (1), flags (1), stream (4). Returns the number of bytes
     * that were there.
     */
    private int scanFrameHeader(ByteBuf in, int from, int end) {
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

    private boolean isHead() {
        return type == Http2FrameTypes.HEADERS || type == Http2FrameTypes.CONTINUATION;
    }

    private void endFrame() {
        if (isHead()) {
            isContinued = (flags & Http2Flags.END_HEADERS) == 0;
        }
        type = Http2FrameTypes.DATA;
    }
}
