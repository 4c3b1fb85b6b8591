package io.weir.compression;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Limits the memory of all compressions that are under way. Each has the state of zlib, {@value #STATE_BYTES}
 * bytes outside the heap, from its first byte to its last.
 *
 * <p>Concurrency: one atomic. The room is asked for before the head of an answer is written, and taken with
 * its first byte, in the same event. So each event loop may exceed the limit by one.
 */
public final class CompressionMemory {

    /** zlib's own figure for a window of 32 KB and {@code memLevel} 8 ({@code zconf.h}), and some. */
    static final int STATE_BYTES = 272 * 1024;

    private final int limit;
    private final AtomicInteger underWay = new AtomicInteger();

    /** A limit in bytes; at least one compression fits. */
    public CompressionMemory(long bytes) {
        this.limit = (int) Math.max(1, Math.min(Integer.MAX_VALUE, bytes / STATE_BYTES));
    }

    boolean hasRoom() {
        return underWay.get() < limit;
    }

    void begin() {
        underWay.incrementAndGet();
    }

    void end() {
        underWay.decrementAndGet();
    }

    /** The number of compressions that are under way. */
    public int underWay() {
        return underWay.get();
    }
}
