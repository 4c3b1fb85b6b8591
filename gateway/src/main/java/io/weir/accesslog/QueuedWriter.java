package io.weir.accesslog;

import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jctools.queues.atomic.MpscAtomicArrayQueue;

/**
 * Hands elements to a consumer that may block, in their order, on a daemon thread of its own.
 *
 * <p>A caller of {@link #offer} never waits: an element that finds the queue full is dropped and counted. As
 * soon as the queue is empty again, the consumer gets one more element, which tells the number.
 *
 * @param <T> the type of the elements
 */
// Concurrency: the queue is lock-free and bounded. The thread sets `isParked` before its last look at the
// queue; an offer takes its place in the queue before it reads `isParked`. So one of the two sees the other,
// and the thread needs no timer.
final class QueuedWriter<T> {

    /** The longest wait of {@link #close} while nothing is written. */
    static final Duration CLOSE_PAUSE = Duration.ofSeconds(1);

    private static final int CLOSE_PAUSES = 10;

    private final Consumer<T> target;
    private final Function<String, T> note;
    private final MpscAtomicArrayQueue<T> queue;
    private final LongAdder dropped = new LongAdder();
    private final Thread thread;
    private volatile boolean isParked;
    private volatile boolean isClosing;
    /** Written by the thread alone. */
    private volatile long written;

    /**
     * Starts the thread.
     *
     * @param capacity maximum number of elements in the queue
     * @param target receives each element on the thread; what it throws counts as a drop
     * @param note makes an element of a message
     */
    @SuppressWarnings("ThisEscapedInObjectConstruction")
    QueuedWriter(int capacity, Consumer<T> target, Function<String, T> note) {
        this.target = target;
        this.note = note;
        this.queue = new MpscAtomicArrayQueue<>(capacity);
        this.thread = Thread.ofPlatform().daemon().name("weir-log").start(this::run);
    }

    /**
     * Queues an element, or drops and counts it. Does not block.
     *
     * @param threshold the element is dropped if the queue has this many
     */
    void offer(T element, int threshold) {
        if (isClosing || !queue.offerIfBelowThreshold(element, threshold)) {
            dropped.increment();
        } else if (isParked) {
            isParked = false;
            LockSupport.unpark(thread);
        }
    }

    /** Elements that were dropped since the start. */
    long dropped() {
        return dropped.sum();
    }

    /**
     * Writes the queued elements; gives up after a second in which none was written, and after ten.
     *
     * @return whether all are written
     */
    boolean close() {
        isClosing = true;
        LockSupport.unpark(thread);
        try {
            for (int pause = 0; pause < CLOSE_PAUSES; pause++) {
                long before = written;
                if (thread.join(CLOSE_PAUSE)) {
                    return true;
                }
                if (written == before) {
                    return false;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return false;
    }

    // ---------------------------------------------------------------- on the thread

    private void run() {
        long reported = 0;
        while (true) {
            boolean last = isClosing;
            T element = queue.poll();
            if (element != null) {
                if (!write(element)) {
                    dropped.increment();
                }
                continue;
            }
            long drops = dropped.sum();
            if (drops > reported) {
                writeNote(drops - reported, drops);
                reported = drops;
            } else if (last) {
                return;
            } else {
                park();
            }
        }
    }

    /** Writes an element; false if the target failed. An error, such as a lack of memory, must not end it. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // One thread writes it.
    private boolean write(T element) {
        try {
            target.accept(element);
            return true;
        } catch (RuntimeException | Error e) {
            return false;
        } finally {
            written++;
        }
    }

    private void writeNote(long drops, long all) {
        write(note.apply(drops + " lines dropped, " + all + " since the start"));
    }

    private void park() {
        isParked = true;
        if (queue.isEmpty() && !isClosing) {
            LockSupport.park(this);
        }
        isParked = false;
    }
}
