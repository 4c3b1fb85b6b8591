package io.weir.edge;

import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Flags;
import io.netty.handler.codec.http2.Http2FrameStream;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2WindowUpdateFrame;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Judges the frames of an HTTP/2 connection by their headers, before the codec reads them: by the {@link
 * Http2FrameBudget} and by the {@link Http2StreamHistory}.
 *
 * <p>Frames of a stream that the gateway has reset are ignored (RFC 9113, 5.1): they were under way. For a
 * stream that Netty's codec has refused without opening it, the codec would end the connection. The ignored
 * bytes are bounded: for each reset stream by the window, which is what a body can have under way, and as
 * much again for the headers of frames; for the connection at any time by {@value #MAX_IGNORABLE_BYTES}.
 *
 * <p>All frames of a read are checked before the codec reads one of them. Whether the codec has refused a
 * stream is known only after it has read the stream's head.
 *
 * <p>Concurrency: confined to the connection's event loop.
 */
final class Http2FrameRules {

    private static final int IGNORABLE_BYTES = 2 * Http2CodecUtil.DEFAULT_WINDOW_SIZE;
    /** Twice the connection's window, likewise. */
    private static final int MAX_IGNORABLE_BYTES = 2 << 20;

    private final Http2StreamHistory history = new Http2StreamHistory();
    private final Http2FrameBudget budget;
    private int ignorableBytes;

    Http2FrameRules(EdgeRules rules, LongSupplier nanoClock) {
        this.budget = new Http2FrameBudget(rules.maxConcurrentStreams(), nanoClock);
    }

    /** Whether frames of this type are ignored if the gateway has reset their stream. */
    static boolean isIgnorable(int type) {
        // Not HEADERS: the codec needs all header blocks for those that follow.
        return type == Http2FrameTypes.DATA
                || type == Http2FrameTypes.RST_STREAM
                || type == Http2FrameTypes.WINDOW_UPDATE;
    }

    /** Whether the codec must not see a frame, because the gateway has reset its stream. */
    boolean ignores(int type, int streamId) {
        return isIgnorable(type) && history.isReset(streamId);
    }

    /** A frame is ignored; returns whether the connection may go on. */
    boolean spendIgnored(int bytes) {
        ignorableBytes -= Http2CodecUtil.FRAME_HEADER_LENGTH + bytes;
        return ignorableBytes >= 0;
    }

    /**
     * A frame's header has arrived.
     *
     * @param bytes the length of its payload
     * @return the error that ends the connection; null if the codec may read the frame
     */
    @Nullable
    Http2Error check(int type, int flags, int streamId, int bytes) {
        boolean isEnd = (flags & Http2Flags.END_STREAM) != 0;
        if (type == Http2FrameTypes.HEADERS) {
            return history.headers(streamId, isEnd);
        }
        if (ignores(type, streamId)) {
            return null;
        }
        if (type == Http2FrameTypes.DATA) {
            if (isEnd) {
                history.dataEnds(streamId);
            }
            if (bytes > 0 || isEnd) {
                return null;
            }
        }
        boolean breaksOff = type == Http2FrameTypes.RST_STREAM && !history.isAnswered(streamId);
        boolean isAffordable = breaksOff ? budget.spendResets(1) : budget.spend();
        return isAffordable ? null : Http2Error.ENHANCE_YOUR_CALM;
    }

    /** A stream of the caller writes a frame. */
    void written(Object frame) {
        if (frame instanceof Http2HeadersFrame head) {
            budget.earn(0);
            if (isResponse(head)) {
                answered(head.stream());
            }
        } else if (frame instanceof Http2DataFrame data && data.content().isReadable()) {
            budget.earn(data.content().readableBytes());
        } else if (frame instanceof Http2WindowUpdateFrame update && update.stream() != null) {
            budget.taken(update.windowSizeIncrement());
        }
    }

    /** Whether a head begins a response: not an informational one, and not trailers. */
    private static boolean isResponse(Http2HeadersFrame head) {
        CharSequence status = head.headers().status();
        return status != null && status.charAt(0) != '1';
    }

    private void answered(@Nullable Http2FrameStream stream) {
        if (stream != null) {
            history.answered(stream.id());
            budget.answered();
        }
    }

    /** Whether the gateway has reset a stream. */
    boolean isReset(int streamId) {
        return history.isReset(streamId);
    }

    /** A stream is about to be reset; returns whether the connection may go on. */
    boolean mayReset(int streamId, long errorCode) {
        boolean isViolation = Http2Violations.isCallersFault(errorCode) || errorCode == Http2Error.STREAM_CLOSED.code();
        if (history.isReset(streamId)) {
            // Perhaps trailers that were under way.
            return !isViolation || budget.spend();
        }
        if (history.reset(streamId)) {
            ignorableBytes = Math.min(MAX_IGNORABLE_BYTES, ignorableBytes + IGNORABLE_BYTES);
        }
        if (errorCode == Http2Error.REFUSED_STREAM.code()) {
            return budget.spend();
        }
        return !isViolation || budget.spendResets(Http2FrameBudget.VIOLATION);
    }
}
