package io.weir.accesslog;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * A bounded first-in-first-out queue of lines, for many who offer and one who polls. Neither waits for the other, and
 * nothing is allocated.
 */
// Concurrency: a ring. `tail` is the number of lines that were ever offered: who moves it by a compare-and-set owns the
// slot it stood at, and publishes the line there. `head` is the number that were ever polled, written by the poller
// alone. A slot is emptied before head passes it, and filled only after tail - head < capacity has been seen, so it is
// never filled twice. A poller that comes between the two steps of an offer finds the slot empty and takes the queue
// for empty.
final class LineQueue {

    private final int capacity;
    private final int mask;
    private final AtomicReferenceArray<byte @Nullable []> ring;
    private final AtomicLong tail = new AtomicLong();
    private final AtomicLong head = new AtomicLong();

    LineQueue(int capacity) {
        this.capacity = capacity;
        int slots = Integer.highestOneBit(Math.max(2, 2 * capacity - 1));
        this.mask = slots - 1;
        this.ring = new AtomicReferenceArray<>(slots);
    }

    /**
     * Puts a line at the end; the number of lines that wait then, or 0 if the queue is full and the line was not taken.
     */
    int offer(byte[] line) {
        while (true) {
            long at = tail.get();
            int waiting = (int) (at - head.get());
            if (waiting >= capacity) {
                if (at == tail.get()) {
                    return 0;
                }
            } else if (tail.compareAndSet(at, at + 1)) {
                ring.setRelease((int) at & mask, line);
                return waiting + 1;
            }
        }
    }

    /** Takes the first line; null if there is none. For one thread at a time. */
    byte @Nullable [] poll() {
        long at = head.get();
        int slot = (int) at & mask;
        byte[] line = ring.getAcquire(slot);
        if (line != null) {
            ring.setPlain(slot, null);
            head.setRelease(at + 1);
        }
        return line;
    }

    /** Lines that wait. */
    int size() {
        return (int) Math.max(0, tail.get() - head.get());
    }
}
