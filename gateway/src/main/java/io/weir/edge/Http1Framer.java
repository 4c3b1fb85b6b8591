package io.weir.edge;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.util.ReferenceCountUtil;
import org.jspecify.annotations.Nullable;

/**
 * Follows the bytes of an HTTP/1 connection from head to head, in front of the decoder.
 *
 * <p>It finds what the decoder is lenient about and hides from everybody behind it: folded fields (RFC 9112, 5.2) and carriage
 * returns without a line feed (2.2), which others may read differently. And it knows what only the bytes tell: that a head has begun, so that its time runs.
 *
 * <p>Of a head it looks at the ends of lines only. How a message's body is framed it does not decide: it hands the bytes up to a head's end to
 * the decoder, and asks the guard behind that what has become of them. So both agree on where the next head begins.
 *
 * <p>When the connection lingers, this drops what still comes.
 */
@SuppressWarnings("FutureReturnValueIgnored") // What becomes of a write or a close, the channel tells.
final class Http1Framer extends ChannelDuplexHandler {

    private enum State {
        /** Before a head; empty lines are skipped. */
        START,
        /** In a line of a head. */
        LINE,
        /** Behind a carriage return that ends a line of a head. */
        LINE_FEED,
        /** At the start of a line of a head, or of trailers. */
        LINE_START,
        /** Behind the carriage return of the empty line that ends a head, or trailers. */
        END,
        /** In a body of known length, or in a chunk. */
        BODY,
        /** In the digits of a chunk's size. */
        CHUNK_SIZE,
        /** In a chunk's extensions. */
        CHUNK_EXTENSION,
        /** Behind the carriage return of a chunk's size. */
        CHUNK_SIZE_END,
        /** Behind a chunk. */
        CHUNK_END,
        /** Behind the carriage return that follows a chunk. */
        CHUNK_LINE_FEED,
        /** The bytes make no sense, which the decoder finds too; or they are no HTTP/1 any more. */
        LOST
    }

    private final Http1Guard guard;

    private State state = State.START;
    private boolean chunked;
    private long left;
    private boolean dropping;
    private int dropped;

    private @Nullable ChannelHandlerContext ctx;

    Http1Framer(Http1Guard guard) {
        this.guard = guard;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
        ctx = context;
    }

    /** Whether a head has begun and not ended. */
    boolean isInHead() {
        return switch (state) {
            case LINE, LINE_FEED, LINE_START, END -> !chunked;
            default -> false;
        };
    }

    /** The bytes are no HTTP/1 any more. */
    void giveUp() {
        state = State.LOST;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (!(message instanceof ByteBuf in)) {
            context.fireChannelRead(message);
        } else if (dropping || guard.refusesInput()) {
            drop(in);
        } else if (state == State.LOST) {
            if (guard.isUpgradedToHttp2()) {
                guard.becomeHttp2();
            }
            context.fireChannelRead(in);
        } else {
            follow(context, in);
            if (!dropping) {
                guard.bytesRead();
            }
        }
    }

    // ---------------------------------------------------------------- following

    private void follow(ChannelHandlerContext context, ByteBuf in) {
        int i = in.readerIndex();
        int end = in.writerIndex();
        while (i < end) {
            switch (state) {
                case START -> {
                    byte b = in.getByte(i);
                    if (b == '\r' || b == '\n') {
                        i++;
                    } else {
                        state = State.LINE;
                    }
                }
                case LINE -> {
                    int cr = in.indexOf(i, end, (byte) '\r');
                    if (cr < 0) {
                        i = end;
                    } else {
                        i = cr + 1;
                        state = State.LINE_FEED;
                    }
                }
                case LINE_FEED -> {
                    if (in.getByte(i) != '\n') {
                        refuse(in, "head: a bare carriage return (expected: a line feed behind it)");
                        return;
                    }
                    i++;
                    state = State.LINE_START;
                }
                case LINE_START -> {
                    byte b = in.getByte(i);
                    if (b == '\r') {
                        i++;
                        state = State.END;
                    } else if (b == ' ' || b == '\t') {
                        refuse(in, "head: a line that begins with a space (expected: no folded fields)");
                        return;
                    } else {
                        state = State.LINE;
                    }
                }
                case END -> {
                    if (in.getByte(i) != '\n') {
                        refuse(in, "head: a bare carriage return (expected: a line feed behind it)");
                        return;
                    }
                    i++;
                    if (chunked) {
                        chunked = false;
                        state = State.START;
                    } else if (!endHead(context, in, i)) {
                        return;
                    }
                }
                case BODY -> {
                    int skipped = (int) Math.min(left, end - i);
                    i += skipped;
                    left -= skipped;
                    if (left == 0) {
                        state = chunked ? State.CHUNK_END : State.START;
                    }
                }
                case CHUNK_SIZE -> chunkSize(in.getByte(i++));
                case CHUNK_EXTENSION -> {
                    int cr = in.indexOf(i, end, (byte) '\r');
                    i = cr < 0 ? end : cr + 1;
                    state = cr < 0 ? State.CHUNK_EXTENSION : State.CHUNK_SIZE_END;
                }
                case CHUNK_SIZE_END -> {
                    if (in.getByte(i++) != '\n') {
                        state = State.LOST;
                    } else {
                        state = left == 0 ? State.LINE_START : State.BODY;
                    }
                }
                case CHUNK_END -> state = in.getByte(i++) == '\r' ? State.CHUNK_LINE_FEED : State.LOST;
                case CHUNK_LINE_FEED -> {
                    state = in.getByte(i++) == '\n' ? State.CHUNK_SIZE : State.LOST;
                    left = 0;
                }
                case LOST -> i = end;
            }
        }
        context.fireChannelRead(in);
    }

    private void chunkSize(byte b) {
        int digit = Character.digit(b, 16);
        if (digit >= 0 && left < Integer.MAX_VALUE) {
            left = left << 4 | digit;
        } else if (b == '\r') {
            state = State.CHUNK_SIZE_END;
        } else if (b == ';' || b == ' ' || b == '\t') {
            state = State.CHUNK_EXTENSION;
        } else {
            state = State.LOST;
        }
    }

    /** Hands a head over, and finds out what follows it; returns whether the rest of the bytes is to be followed. */
    private boolean endHead(ChannelHandlerContext context, ByteBuf in, int end) {
        state = State.START;
        boolean last = end == in.writerIndex();
        context.fireChannelRead(last ? in : in.readRetainedSlice(end - in.readerIndex()));
        if (dropping || guard.refusesInput()) {
            if (!last) {
                drop(in);
            }
            return false;
        }
        if (state == State.LOST) {
            if (!last) {
                context.fireChannelRead(in);
            }
            return false;
        }
        if (guard.isReading()) {
            left = guard.contentLength();
            chunked = left < 0;
            left = Math.max(left, 0);
            state = chunked ? State.CHUNK_SIZE : State.BODY;
        }
        return !last;
    }

    private void refuse(ByteBuf in, String detail) {
        in.release();
        state = State.LOST;
        guard.malformed(detail);
    }

    // ---------------------------------------------------------------- lingering

    /** From now on, what comes is dropped, up to a limit; then it is not read any more. */
    void dropInput() {
        dropping = true;
        dropped = 0;
        ChannelHandlerContext context = context();
        context.channel().config().setAutoRead(false);
        context.read();
    }

    /** Tells when everything that has been written is flushed. */
    void flush(ChannelFutureListener listener) {
        context().writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(listener);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        if (!dropping) {
            context.fireChannelReadComplete();
        } else if (dropped < EdgeRules.UNREAD_MAX_BYTES) {
            context.read();
        } else {
            context.channel().config().setAutoRead(false);
        }
    }

    /** Nobody else has a say in whether a connection that lingers is read. */
    @Override
    public void read(ChannelHandlerContext context) {
        if (!dropping) {
            context.read();
        }
    }

    private void drop(ByteBuf in) {
        dropped += in.readableBytes();
        ReferenceCountUtil.release(in);
    }

    private ChannelHandlerContext context() {
        ChannelHandlerContext context = ctx;
        if (context == null) {
            throw new IllegalStateException("framer: not in a pipeline (expected: in the one of its connection)");
        }
        return context;
    }
}
