package io.weir.engine;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.weir.slowcaller.MinimumRate;
import io.weir.slowcaller.SlowCaller;

/**
 * Detects a caller that stops reading its answer, or reads it below the minimum rate.
 *
 * <p>The detector checks the caller's progress {@value #LOOKS} times per idle time-out. So it detects a
 * stopped caller at most two such periods late, and never early.
 */
final class SlowReaderDetector {

    private static final int LOOKS = 16;
    private static final int LARGE_BYTES = 65_536;

    private final ExchangeContext exchange;
    private final MinimumRate rate;
    private long readBytes;
    private long readAt;
    private long lookedAt;
    private boolean wasBehind;
    private boolean hasLooked;

    /** A detector for an answer of which the caller has read nothing yet. */
    SlowReaderDetector(ExchangeContext exchange, long now) {
        this.exchange = exchange;
        Limits limits = exchange.resources().limits();
        this.rate = new MinimumRate(limits.readIdleNanos(), limits.minBodyBytesPerSecond());
        this.readAt = now;
        this.lookedAt = now;
    }

    /** Whether the caller reads a complete answer too slowly, or not at all. */
    boolean isStalled(long now) {
        return isStalled(exchange.record().answerBytes(), false, now);
    }

    /**
     * Records the caller's progress.
     *
     * @param receivedBytes bytes that the backend has sent so far
     * @param isHeldUp whether the caller holds up the backend
     * @return whether the caller has read nothing for the idle time-out, or less than the minimum rate
     */
    boolean isStalled(long receivedBytes, boolean isHeldUp, long now) {
        long pending = pendingBytes();
        long read = receivedBytes - pending;
        boolean isBehind = pending > 0 || isHeldUp;
        if (isBehind && wasBehind) {
            rate.waited(now - lookedAt);
            // The pending bytes include those of the protocol, so the difference may be negative.
            rate.moved(Math.max(0, read - readBytes));
        } else {
            rate.restart();
        }
        if (!isBehind || !wasBehind || read != readBytes) {
            readBytes = read;
            readAt = now;
        }
        wasBehind = isBehind;
        hasLooked = true;
        lookedAt = now;
        SlowCaller slow = isBehind ? exchange.heldUp() : exchange.slowCaller();
        if (slow != null) {
            slow.look(isBehind, pending, read + exchange.sentBytes(), now);
        }
        return leftNanos(now) <= 0;
    }

    /** Time until a caller that reads nothing more has stalled. */
    private long leftNanos(long now) {
        return Math.min(
                exchange.resources().limits().readIdleNanos() - (now - readAt), rate.leftNanos() - (now - lookedAt));
    }

    /** Time until the caller's progress must be checked. */
    long dueNanos(long now) {
        return Math.min(lookedAt + periodNanos() - now, leftNanos(now));
    }

    /** A large answer that is complete is soon counted, if its caller does not read it. */
    private long periodNanos() {
        long period = exchange.resources().limits().readIdleNanos() / LOOKS;
        return hasLooked || exchange.record().answerBytes() < LARGE_BYTES
                ? period
                : Math.min(period, HeldUpCall.PATIENCE_NANOS);
    }

    /** Whether the caller has bytes left to read. */
    boolean isBehind(boolean isHeldUp) {
        return isHeldUp || pendingBytes() > 0;
    }

    /** Bytes that are written but not yet flushed to the caller. */
    private long pendingBytes() {
        Channel channel = exchange.record().caller().received().channel();
        if (!channel.isActive()) {
            // It has no buffer any more, and no water marks.
            return 0;
        }
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
