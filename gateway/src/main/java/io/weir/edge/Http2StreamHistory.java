package io.weir.edge;

import io.netty.handler.codec.http2.Http2Error;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * The latest streams of an HTTP/2 connection: those the caller has opened, those it has ended, those whose
 * response has begun, and those the gateway has reset. Netty's codec forgets a closed stream, and then
 * cannot tell a violation from a frame that was on its way.
 *
 * <p>The history covers the {@value #STREAMS} streams up to the highest one. Frames of older streams are not
 * checked.
 *
 * <p>Concurrency: confined to the connection's event loop.
 */
final class Http2StreamHistory {

    static final int STREAMS = 512;

    private final BitSet opened = new BitSet(STREAMS);
    private final BitSet ended = new BitSet(STREAMS);
    private final BitSet answered = new BitSet(STREAMS);
    private final BitSet reset = new BitSet(STREAMS);
    private int last = -1;

    /**
     * A HEADERS frame of a caller has begun.
     *
     * @param isEnd whether it ends the stream
     * @return the error of the connection (RFC 9113, 5.1 and 5.1.1); null if there is none
     */
    @Nullable
    Http2Error headers(int streamId, boolean isEnd) {
        if ((streamId & 1) == 0) {
            // Not a stream of the caller: the codec refuses it.
            return null;
        }
        int number = streamId >>> 1;
        if (number > last) {
            open(number);
        } else if (last - number >= STREAMS) {
            return null;
        } else if (!opened.get(number % STREAMS)) {
            return Http2Error.PROTOCOL_ERROR;
        } else if (ended.get(number % STREAMS)) {
            return Http2Error.STREAM_CLOSED;
        }
        if (isEnd) {
            ended.set(number % STREAMS);
        }
        return null;
    }

    /** A DATA frame of a caller ends its stream. */
    void dataEnds(int streamId) {
        mark(ended, streamId);
    }

    /** The response of a stream begins. */
    void answered(int streamId) {
        mark(answered, streamId);
    }

    /** The gateway resets a stream; returns whether the history covers it. */
    boolean reset(int streamId) {
        return mark(reset, streamId);
    }

    boolean isReset(int streamId) {
        return isCovered(streamId) && reset.get((streamId >>> 1) % STREAMS);
    }

    boolean isAnswered(int streamId) {
        return isCovered(streamId) && answered.get((streamId >>> 1) % STREAMS);
    }

    private boolean mark(BitSet streams, int streamId) {
        boolean isCovered = isCovered(streamId);
        if (isCovered) {
            streams.set((streamId >>> 1) % STREAMS);
        }
        return isCovered;
    }

    private boolean isCovered(int streamId) {
        int number = streamId >>> 1;
        return (streamId & 1) == 1 && number <= last && last - number < STREAMS;
    }

    private void open(int number) {
        int skipped = Math.min(STREAMS, number - last);
        for (int i = 0; i < skipped; i++) {
            int forgotten = (number - i) % STREAMS;
            opened.clear(forgotten);
            ended.clear(forgotten);
            answered.clear(forgotten);
            reset.clear(forgotten);
        }
        last = number;
        opened.set(number % STREAMS);
    }
}
