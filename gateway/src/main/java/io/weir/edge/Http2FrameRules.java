package io.weir.edge;

import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Flags;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Judges the frames of an HTTP/2 connection by their headers, before the codec reads them: by the {@link
 * Http2FrameBudget} and by the {@link Http2StreamHistory}.
 *
 * <p>Concurrency: confined to the connection's event loop.
 */
final class Http2FrameRules {

    private final Http2StreamHistory history = new Http2StreamHistory();
    private final Http2FrameBudget budget;

    Http2FrameRules(EdgeRules rules, LongSupplier nanoClock) {
        this.budget = new Http2FrameBudget(rules.maxConcurrentStreams(), nanoClock);
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
        if (type == Http2FrameTypes.DATA) {
            if (isEnd) {
                history.dataEnds(streamId);
            }
            if (bytes > 0) {
                budget.earn(bytes);
            }
            if (bytes > 0 || isEnd) {
                return null;
            }
        }
        return budget.spend(1) ? null : Http2Error.ENHANCE_YOUR_CALM;
    }

    /** The gateway writes a frame of a response. */
    void written(Object frame) {
        if (frame instanceof Http2HeadersFrame) {
            budget.earn(0);
        } else if (frame instanceof Http2DataFrame data && data.content().isReadable()) {
            budget.earn(data.content().readableBytes());
        }
    }

    /** A stream is about to be reset; returns whether the connection may go on. */
    boolean mayReset(long errorCode) {
        return !(Http2Violations.isCallersFault(errorCode) || errorCode == Http2Error.STREAM_CLOSED.code())
                || budget.spend(Http2FrameBudget.VIOLATION);
    }
}
