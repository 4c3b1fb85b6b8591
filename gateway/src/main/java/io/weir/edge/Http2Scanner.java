package io.weir.edge;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2FrameTypes;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Scans the bytes of an HTTP/2 connection frame by frame in front of the codec, which does not tell that a
 * frame has begun. Only this handler detects a head that stalls. It judges all frames of a read by {@link
 * Http2FrameRules} first, and passes none of them on if one ends the connection: the calls of a flood do not
 * begin. Then it passes on the frames that those rules do not ignore.
 *
 * <p>A body and its head may arrive in one read. The codec must read the head first: whether it refuses the
 * stream decides whether the body is ignored. A frame's header that is incomplete is held back.
 *
 * <p>On a connection without TLS, it is in the pipeline from the first byte, and removes itself if the first
 * bytes are not HTTP/2's preface.
 */
final class Http2Scanner extends ChannelInboundHandlerAdapter {

    private static final byte[] PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

    private final CallerConnection connection;
    private int prefaceBytes;
    /** Up to here, frames are judged. */
    private final Http2FrameCursor judged = new Http2FrameCursor();
    /** Up to here, frames are passed on, held back or ignored. */
    private final Http2FrameCursor passed = new Http2FrameCursor();
    /** The rules ignore the frame at {@link #passed}. */
    private boolean isIgnored;
    /** The first bytes of a frame's header, which are not passed on yet. */
    private final byte[] heldHeader = new byte[Http2FrameCursor.HEADER_BYTES];

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
        scan(context, in);
        in.release();
    }

    private void scan(ChannelHandlerContext context, ByteBuf in) {
        int preface = Math.min(in.readableBytes(), PREFACE.length - prefaceBytes);
        prefaceBytes += preface;
        int from = in.readerIndex() + preface;
        Http2Error violation = judge(in, from);
        if (violation == null || !(connection.guard() instanceof Http2Guard)) {
            // The codec's first frame installs the guard of a connection without TLS.
            Http2Error excess = pass(context, in, from);
            violation = violation == null ? excess : violation;
        }
        isEnded = violation != null;
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
        return judged.isInHead();
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

    /** Judges the frames that begin, up to the first that ends the connection; returns that frame's error. */
    private @Nullable Http2Error judge(ByteBuf in, int from) {
        int i = from;
        int end = in.writerIndex();
        while (i < end) {
            if (judged.isInPayload()) {
                i += judged.skipPayload(end - i);
            } else {
                i += judged.readHeader(in, i, end);
                if (!judged.isInHeader()) {
                    Http2Error violation =
                            frames().check(judged.type(), judged.flags(), judged.streamId(), judged.remainingBytes());
                    if (violation != null) {
                        return violation;
                    }
                }
            }
            judged.endFrame();
        }
        return null;
    }

    // ---------------------------------------------------------------- passing on

    /**
     * Passes the bytes on, apart from frames that the rules ignore, and the first bytes of a frame's header;
     * returns the error if too much is ignored.
     */
    private @Nullable Http2Error pass(ChannelHandlerContext context, ByteBuf in, int from) {
        ignoredBytes = 0;
        passedIndex = in.readerIndex();
        Http2Error violation = passFrames(context, in, from);
        if (violation == null) {
            passTo(in.writerIndex(), context, in);
        }
        if (ignoredBytes > 0 && connection.guard() instanceof Http2Guard guard) {
            guard.onBodiesIgnored(ignoredBytes);
        }
        return violation;
    }

    private @Nullable Http2Error passFrames(ChannelHandlerContext context, ByteBuf in, int from) {
        int i = from;
        int end = in.writerIndex();
        boolean hasUnpassedHead = false;
        while (i < end) {
            if (passed.isInPayload()) {
                i += passed.skipPayload(end - i);
                passedIndex = isIgnored ? i : passedIndex;
            } else {
                int headerAt = i;
                i += passed.readHeader(in, i, end);
                if (passed.isInHeader()) {
                    passTo(headerAt, context, in);
                    hold(in, headerAt);
                    return null;
                }
                if (hasUnpassedHead && Http2FrameRules.isIgnorable(passed.type())) {
                    passTo(headerAt, context, in);
                    hasUnpassedHead = false;
                }
                if (passOrIgnoreHeader(headerAt, i, context, in)) {
                    return Http2Error.ENHANCE_YOUR_CALM;
                }
            }
            hasUnpassedHead |= passed.isHead();
            passed.endFrame();
        }
        return null;
    }

    /**
     * A frame's header is complete, and ends before this index; returns whether it is ignored and one too
     * many.
     */
    private boolean passOrIgnoreHeader(int from, int to, ChannelHandlerContext context, ByteBuf in) {
        int bytes = passed.remainingBytes();
        isIgnored = frames().ignores(passed.type(), passed.streamId());
        boolean isAffordable = true;
        if (isIgnored) {
            passTo(from, context, in);
            passedIndex = to;
            ignoredBytes += passed.type() == Http2FrameTypes.DATA ? bytes : 0;
            isAffordable = frames().spendIgnored(bytes);
        } else if (heldBytes > 0) {
            context.fireChannelRead(Unpooled.copiedBuffer(heldHeader, 0, heldBytes));
        }
        heldBytes = 0;
        return !isAffordable;
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
        if (isFlooded()) {
            passedIndex = end;
        } else if (length == in.readableBytes()) {
            passedIndex = end;
            context.fireChannelRead(in.retain());
        } else if (length > 0) {
            ByteBuf part = in.retainedSlice(passedIndex, length);
            passedIndex = end;
            context.fireChannelRead(part);
        }
    }

    /** Whether the guard has ended the connection after a part of the present read. */
    private boolean isFlooded() {
        return connection.guard() instanceof Http2Guard guard && guard.isFlooded();
    }
}
