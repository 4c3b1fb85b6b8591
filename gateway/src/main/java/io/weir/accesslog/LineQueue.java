package io.weir.accesslog;

import org.jctools.queues.atomic.MpscAtomicArrayQueue;
import org.jspecify.annotations.Nullable;

/** A bounded first-in-first-out queue of lines, from many event loops to one writer. */
// Concurrency: JCTools' lock-free queue; neither side waits for the other, and nothing is allocated. A line
// that is being added may be missed by the present poll, and is found by the next one.
final class LineQueue {

    private final MpscAtomicArrayQueue<byte[]> lines;
    private final int capacity;

    LineQueue(int capacity) {
        // JCTools rounds up to a power of two; `offer` keeps to the exact capacity.
        this.lines = new MpscAtomicArrayQueue<>(Math.max(2, capacity));
        this.capacity = capacity;
    }

    /** Adds a line at the end; false if the queue is full. */
    boolean offer(byte[] line) {
        return lines.offerIfBelowThreshold(line, capacity);
    }

    /** Removes the first line; null if there is none. Called by one thread at a time. */
    byte @Nullable [] poll() {
        return lines.relaxedPoll();
    }

    /** Number of lines in the queue. */
    int size() {
        return lines.size();
    }
}
