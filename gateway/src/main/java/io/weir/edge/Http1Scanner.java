package io.weir.edge;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.util.ReferenceCountUtil;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Scans the bytes of an HTTP/1 connection in front of the decoder, and tracks where each request head begins
 * and ends.
 *
 * <p>It finds errors that the decoder tolerates and hides from later handlers: folded fields (RFC 9112, 5.2)
 * carriage returns without a line feed (2.2), and tabs in a request line (3), which other parsers may read
 * differently. It also knows when a head has begun, so that the head's timeout can start.
 *
 * <p>In a head, it looks at the ends of lines only. It does not decide how a body is framed: it passes the
 * bytes up to the end of a head to the decoder, and reads the framing from the connection's state. So scanner
 * and decoder agree on the start of the next head.
 *
 * <p>When the connection lingers, this handler drops the input.
 */
@SuppressWarnings("FutureReturnValueIgnored") // A failed write or close shows as the channel's close.
final class Http1Scanner extends ChannelDuplexHandler {

    private enum Position {
        /** Before a head; empty lines are skipped. */
        START,
        /** In the first line of a head. */
        REQUEST_LINE,
        /** In another line of a head. */
        LINE,
        /** After the carriage return that ends a line of a head. */
        LINE_FEED,
        /** At the start of a line of a head, or of trailers. */
        LINE_START,
        /** After the carriage return of the empty line that ends a head, or trailers. */
        END,
        /** In a body of known length, or in a chunk. */
        BODY,
        /** In the digits of a chunk's size. */
        CHUNK_SIZE,
        /** In a chunk's extensions. */
        CHUNK_EXTENSION,
        /** After the carriage return of a chunk's size. */
        CHUNK_SIZE_END,
        /** After a chunk. */
        CHUNK_END,
        /** After the carriage return that follows a chunk. */
        CHUNK_LINE_FEED,
        /** The bytes are malformed, which the decoder finds too, or they are no longer HTTP/1. */
        LOST
    }

    /** Learns what the scanner finds. */
    interface Listener {

        /** Completes an upgrade by {@code Upgrade: h2c}, if there is one. */
        void completeUpgrade();

        /** The codec has decoded all bytes that have arrived. */
        void onBytesDecoded();

        /** There are bytes that a correct client does not send. */
        void onMalformedBytes(String detail);
    }

    /** The result of a scan step whose buffer needs no further scan. */
    private static final int STOP = -1;

    private static final String BARE_CR = "head: a bare carriage return (expected: a line feed after it)";
    private static final String OTHER_SEPARATOR = "request line: a tab or form feed (expected: single spaces)";
    private static final byte VERTICAL_TAB = 0x0b;
    private static final String FOLDED_FIELD = "head: a line that begins with a space (expected: no folded fields)";

    private final Listener listener;
    private final Http1ConnectionState connectionState;

    private Position position = Position.START;
    private boolean isChunked;
    /** Bytes of the body or chunk that have not arrived. */
    private long remainingBytes;

    private boolean isDropping;
    private int droppedBytes;

    private @Nullable ChannelHandlerContext ctx;

    Http1Scanner(Listener listener, Http1ConnectionState connectionState) {
        this.listener = listener;
        this.connectionState = connectionState;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
        ctx = context;
    }

    /** Whether a head has begun and not ended. */
    boolean isInHead() {
        return switch (position) {
            case REQUEST_LINE, LINE, LINE_FEED, LINE_START, END -> !isChunked;
            default -> false;
        };
    }

    /** Stops the scan: the bytes are no longer HTTP/1. */
    void stop() {
        position = Position.LOST;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (!(message instanceof ByteBuf in)) {
            context.fireChannelRead(message);
        } else if (isDropping || connectionState.ignoresInput()) {
            drop(in);
        } else if (position == Position.LOST) {
            listener.completeUpgrade();
            context.fireChannelRead(in);
        } else {
            scan(context, in);
            if (!isDropping) {
                listener.onBytesDecoded();
            }
        }
    }

    // ---------------------------------------------------------------- scan

    private void scan(ChannelHandlerContext context, ByteBuf in) {
        int index = in.readerIndex();
        int end = in.writerIndex();
        while (index < end) {
            index = switch (position) {
                case START, REQUEST_LINE, LINE, LINE_FEED, LINE_START, END -> scanHead(context, in, index, end);
                case LOST -> end;
                default -> scanBody(in, index, end);
            };
            if (index == STOP) {
                return;
            }
        }
        context.fireChannelRead(in);
    }

    /**
     * Scans a part of a head or of trailers; returns the index of the next byte to scan, or {@link #STOP}.
     */
    private int scanHead(ChannelHandlerContext context, ByteBuf in, int index, int end) {
        if (position == Position.LINE || position == Position.REQUEST_LINE) {
            int cr = in.indexOf(index, end, (byte) '\r');
            if (position == Position.REQUEST_LINE && hasOtherSeparator(in, index, cr < 0 ? end : cr)) {
                return refuse(in, OTHER_SEPARATOR);
            }
            if (cr < 0) {
                return end;
            }
            position = Position.LINE_FEED;
            return cr + 1;
        }
        byte b = in.getByte(index);
        switch (position) {
            case LINE_FEED -> {
                if (b != '\n') {
                    return refuse(in, BARE_CR);
                }
                position = Position.LINE_START;
                return index + 1;
            }
            case LINE_START -> {
                if (b == '\r') {
                    position = Position.END;
                    return index + 1;
                }
                if (b == ' ' || b == '\t') {
                    return refuse(in, FOLDED_FIELD);
                }
                position = Position.LINE;
                return index;
            }
            case END -> {
                return b == '\n' ? endHeadOrTrailers(context, in, index + 1) : refuse(in, BARE_CR);
            }
            default -> {
                if (b == '\r' || b == '\n') {
                    return index + 1;
                }
                position = Position.REQUEST_LINE;
                return index;
            }
        }
    }

    /** Whether a request line contains white space that the decoder takes for a space. */
    private static boolean hasOtherSeparator(ByteBuf in, int index, int end) {
        return in.indexOf(index, end, (byte) '\t') >= 0
                || in.indexOf(index, end, VERTICAL_TAB) >= 0
                || in.indexOf(index, end, (byte) '\f') >= 0;
    }

    /** Scans a part of a body; returns the index of the next byte to scan. */
    private int scanBody(ByteBuf in, int index, int end) {
        switch (position) {
            case BODY -> {
                int skipped = (int) Math.min(remainingBytes, end - index);
                remainingBytes -= skipped;
                if (remainingBytes == 0) {
                    position = isChunked ? Position.CHUNK_END : Position.START;
                }
                return index + skipped;
            }
            case CHUNK_EXTENSION -> {
                int cr = in.indexOf(index, end, (byte) '\r');
                if (cr < 0) {
                    return end;
                }
                position = Position.CHUNK_SIZE_END;
                return cr + 1;
            }
            case CHUNK_SIZE -> scanChunkSize(in.getByte(index));
            case CHUNK_SIZE_END -> {
                Position next = remainingBytes == 0 ? Position.LINE_START : Position.BODY;
                position = in.getByte(index) == '\n' ? next : Position.LOST;
            }
            case CHUNK_END -> position = in.getByte(index) == '\r' ? Position.CHUNK_LINE_FEED : Position.LOST;
            default -> {
                position = in.getByte(index) == '\n' ? Position.CHUNK_SIZE : Position.LOST;
                remainingBytes = 0;
            }
        }
        return index + 1;
    }

    private void scanChunkSize(byte b) {
        int digit = Character.digit(b, 16);
        if (digit >= 0 && remainingBytes < Integer.MAX_VALUE) {
            remainingBytes = remainingBytes << 4 | digit;
        } else if (b == '\r') {
            position = Position.CHUNK_SIZE_END;
        } else if (b == ';' || b == ' ' || b == '\t') {
            position = Position.CHUNK_EXTENSION;
        } else {
            position = Position.LOST;
        }
    }

    private int endHeadOrTrailers(ChannelHandlerContext context, ByteBuf in, int end) {
        if (isChunked) {
            isChunked = false;
            position = Position.START;
            return end;
        }
        return endHead(context, in, end) ? end : STOP;
    }

    /** Passes a head on, and reads the framing of its body; returns whether more bytes are to be scanned. */
    private boolean endHead(ChannelHandlerContext context, ByteBuf in, int end) {
        position = Position.START;
        boolean isLast = end == in.writerIndex();
        context.fireChannelRead(isLast ? in : in.readRetainedSlice(end - in.readerIndex()));
        if (isDropping || connectionState.ignoresInput()) {
            if (!isLast) {
                drop(in);
            }
            return false;
        }
        if (position == Position.LOST) {
            if (!isLast) {
                context.fireChannelRead(in);
            }
            return false;
        }
        if (connectionState.isReadingBody()) {
            remainingBytes = connectionState.bodyLength();
            isChunked = remainingBytes < 0;
            remainingBytes = Math.max(remainingBytes, 0);
            position = isChunked ? Position.CHUNK_SIZE : Position.BODY;
        }
        return !isLast;
    }

    private int refuse(ByteBuf in, String detail) {
        in.release();
        position = Position.LOST;
        listener.onMalformedBytes(detail);
        return STOP;
    }

    // ---------------------------------------------------------------- linger

    /** Drops the input from now on; after a limit, the connection is not read any more. */
    void dropInput() {
        isDropping = true;
        droppedBytes = 0;
        ChannelHandlerContext context = context();
        context.channel().config().setAutoRead(false);
        context.read();
    }

    /** Notifies the listener when all written bytes are flushed. */
    void flush(ChannelFutureListener listener) {
        context().writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(listener);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        if (!isDropping) {
            context.fireChannelReadComplete();
        } else if (droppedBytes < EdgeRules.UNREAD_MAX_BYTES) {
            context.read();
        } else {
            context.channel().config().setAutoRead(false);
        }
    }

    /** Ignores reads of other handlers while the connection lingers. */
    @Override
    public void read(ChannelHandlerContext context) {
        if (!isDropping) {
            context.read();
        }
    }

    private void drop(ByteBuf in) {
        droppedBytes += in.readableBytes();
        ReferenceCountUtil.release(in);
    }

    private ChannelHandlerContext context() {
        return Objects.requireNonNull(ctx, "scanner: not in a pipeline");
    }
}
