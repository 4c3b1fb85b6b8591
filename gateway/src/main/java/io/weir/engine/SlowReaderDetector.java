package io.weir.engine;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;

/** Detects a caller that stops reading its answer. */
final class SlowReaderDetector {

    private final Exchange exchange;
    private long readBytes;
    private long readAt;

    /** A detector for an answer of which the caller has read nothing yet. */
    SlowReaderDetector(Exchange exchange, long now) {
        this.exchange = exchange;
        this.readAt = now;
    }

    /** Restarts the idle time, since the backend's answer is complete. */
    void restart(long now) {
        readAt = now;
    }

    /** Whether the caller has read nothing of a complete answer for the whole idle time. */
    boolean isStalled(long now) {
        return isStalled(exchange.record().answerBytes(), false, now);
    }

    /**
     * Records the caller's progress.
     *
     * @param receivedBytes bytes that the backend has sent so far
     * @param isHeldUp whether the caller holds up the backend
     * @return whether the caller has read nothing for the whole idle time
     */
    boolean isStalled(long receivedBytes, boolean isHeldUp, long now) {
        long pending = pendingBytes();
        long read = receivedBytes - pending;
        if ((pending <= 0 && !isHeldUp) || read != readBytes) {
            readBytes = read;
            readAt = now;
            return false;
        }
        return dueNanos(now) <= 0;
    }

    /** Time until the caller has read nothing for the whole idle time. */
    long dueNanos(long now) {
        return exchange.engine().limits().readIdleNanos() - (now - readAt);
    }

    /** Whether the caller has bytes left to read. */
    boolean isBehind(boolean isHeldUp) {
        return isHeldUp || pendingBytes() > 0;
    }

    /** Bytes that are written but not yet flushed to the caller. */
    private long pendingBytes() {
        Channel channel = exchange.record().caller().channel();
        ChannelOutboundBuffer buffer = channel.unsafe().outboundBuffer();
        if (buffer != null) {
            return buffer.totalPendingWriteBytes();
        }
        // An HTTP/2 stream has no outbound buffer, but it knows its distance from the water marks. Every byte
        // that waits for the caller's window counts.
        return channel.isWritable()
                ? channel.config().getWriteBufferHighWaterMark() + 1 - channel.bytesBeforeUnwritable()
                : channel.config().getWriteBufferLowWaterMark() - 1 + channel.bytesBeforeWritable();
    }
}
