package io.weir.accesslog;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes lines to a sink, in batches, on a daemon thread of its own.
 *
 * <p>A caller of {@link #accept} never waits: a line that finds the queue full is dropped and counted. The
 * thread polls the queue every {@value #POLL_MILLIS} ms. Waking it for each line would cost an event loop
 * more than the line itself; it is woken only when the queue is half full.
 */
// Concurrency: the queue is the only shared state of event loops and writer. The writer sets `isParked`
// before its last look at the queue; an offer that makes the queue half full unparks the writer if `isParked`
// is set. If the offer does not see `isParked` and the writer does not see the line, the writer wakes by
// itself after POLL_MILLIS.
final class LineWriter implements AutoCloseable {

    static final int POLL_MILLIS = 10;

    private static final long CLOSE_MILLIS = 1_000;
    private static final int BATCH_BYTES = 65_536;

    /**
     * The number of rounds between two checks. A round is one batch or one poll, so this takes a second while
     * idle, or a few thousand lines.
     */
    private static final int ROUNDS_PER_CHECK = 1_000 / POLL_MILLIS;

    private static final Logger log = LoggerFactory.getLogger(LineWriter.class);

    private final LineSink sink;
    private final LineQueue queue;
    private final int wakeSize;
    private final LongAdder dropped = new LongAdder();
    private final Thread thread;
    private volatile boolean isParked;
    private volatile boolean isClosing;

    /**
     * Starts the writer.
     *
     * @param capacity maximum number of lines in the queue
     */
    @SuppressWarnings("ThisEscapedInObjectConstruction")
    LineWriter(LineSink sink, int capacity) {
        this.sink = sink;
        this.queue = new LineQueue(capacity);
        this.wakeSize = Math.max(1, capacity / 2);
        this.thread = Thread.ofPlatform().daemon().name("weir-access-log").start(this::run);
    }

    /** Queues a line, or drops and counts it. Does not block. */
    void accept(byte[] line) {
        if (isClosing || !queue.offer(line)) {
            dropped.increment();
        } else if (isParked && queue.size() >= wakeSize) {
            isParked = false;
            LockSupport.unpark(thread);
        }
    }

    /** Counts a line that could not be formatted. */
    void countDropped() {
        dropped.increment();
    }

    /** Lines that were dropped since the start. */
    long dropped() {
        return dropped.sum();
    }

    /** Writes the queued lines, for one second at most. */
    @Override
    public void close() {
        isClosing = true;
        LockSupport.unpark(thread);
        try {
            thread.join(CLOSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (thread.isAlive()) {
            log.warn("Access log not written within {} ms; {} lines are lost", CLOSE_MILLIS, queue.size());
        }
    }

    // ---------------------------------------------------------------- on the writer's thread

    private void run() {
        Batch batch = new Batch();
        for (long round = 1; ; round++) {
            boolean last = isClosing;
            if (batch.fill()) {
                batch.write();
            } else if (last) {
                break;
            } else {
                park();
            }
            if (round % ROUNDS_PER_CHECK == 0) {
                batch.check();
            }
        }
        batch.close();
    }

    private void park() {
        isParked = true;
        if (queue.size() < wakeSize && !isClosing) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(POLL_MILLIS));
        }
        isParked = false;
    }

    /** The lines of one write. */
    private final class Batch {

        private byte[] bytes = new byte[BATCH_BYTES];
        private int length;
        private int lines;
        /** A line that did not fit; it begins the next batch. */
        private byte @Nullable [] next;

        private boolean isFailing;
        private long reportedDrops;

        /** Takes lines from the queue up to the size of a batch; false if there are none. */
        boolean fill() {
            length = 0;
            lines = 0;
            byte[] line = next != null ? next : queue.poll();
            while (line != null && (length == 0 || length + line.length <= bytes.length)) {
                if (line.length > bytes.length) {
                    bytes = new byte[line.length];
                }
                System.arraycopy(line, 0, bytes, length, line.length);
                length += line.length;
                lines++;
                line = queue.poll();
            }
            next = line;
            return lines > 0;
        }

        void write() {
            try {
                sink.write(bytes, length);
                isFailing = false;
            } catch (IOException e) {
                dropped.add(lines);
                logFailure(e);
            }
        }

        void check() {
            try {
                sink.check();
            } catch (IOException e) {
                logFailure(e);
            }
            long drops = dropped.sum();
            if (drops > reportedDrops) {
                log.warn("Access log: {} lines dropped, {} since the start", drops - reportedDrops, drops);
                reportedDrops = drops;
            }
        }

        void close() {
            try {
                sink.close();
            } catch (IOException e) {
                logFailure(e);
            }
        }

        /** Logs the first failure of a series. */
        private void logFailure(IOException e) {
            if (!isFailing) {
                isFailing = true;
                log.error("Access log cannot be written; its lines are dropped and counted", e);
            }
        }
    }
}
