package io.weir.engine;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;

/** The answer on its way to the caller: whether it is taken, or stands still. */
final class SlowReaderDetector {

    private final Channel channel;
    private final long idleNanos;
    private long takenBytes;
    private long takenAt;

    /**
     * A delivery of which nothing is taken yet.
     *
     * @param idleNanos time that the caller may take nothing
     */
    SlowReaderDetector(Channel channel, long idleNanos, long now) {
        this.channel = channel;
        this.idleNanos = idleNanos;
        this.takenAt = now;
    }

    /** All of the answer is there now: the time that the caller may take nothing begins anew. */
    void restart(long now) {
        takenAt = now;
    }

    /**
     * Takes note of how far it has got.
     *
     * @param passedBytes bytes that the backend has brought
     * @param heldUp whether the caller holds the backend up
     * @return whether it stands still for too long
     */
    boolean standsStill(long passedBytes, boolean heldUp, long now) {
        long pending = pendingBytes();
        long taken = passedBytes - pending;
        if ((pending <= 0 && !heldUp) || taken != takenBytes) {
            takenBytes = taken;
            takenAt = now;
            return false;
        }
        return dueNanos(now) <= 0;
    }

    /** Time to when it has stood still for too long. */
    long dueNanos(long now) {
        return idleNanos - (now - takenAt);
    }

    /** Whether the caller has something to take. */
    boolean waitsForCaller(boolean heldUp) {
        return heldUp || pendingBytes() > 0;
    }

    /** Bytes written and not yet flushed to the caller. */
    private long pendingBytes() {
        ChannelOutboundBuffer buffer = channel.unsafe().outboundBuffer();
        if (buffer != null) {
            return buffer.totalPendingWriteBytes();
        }
        // An HTTP/2 stream has none, but tells how far it is from its marks: what waits for the caller's window counts,
        // however little it is.
        return channel.isWritable()
                ? channel.config().getWriteBufferHighWaterMark() + 1 - channel.bytesBeforeUnwritable()
                : channel.config().getWriteBufferLowWaterMark() - 1 + channel.bytesBeforeWritable();
    }
}
