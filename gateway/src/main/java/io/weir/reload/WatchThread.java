package io.weir.reload;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The daemon thread of a watch: it compares, rests, and compares again, until it is closed. */
// Concurrency: the latch ends the thread, which close() then waits for.
final class WatchThread implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(WatchThread.class);

    /** A comparison may read files of a network file system that hangs. */
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(5);

    private final Thread thread;
    private final CountDownLatch closed = new CountDownLatch(1);

    /** What a watch does: compares and {@linkplain #rest rests}, until it is closed. */
    @FunctionalInterface
    interface Watch {
        void run() throws InterruptedException;
    }

    /** A thread that has not started yet. */
    WatchThread(String name, Watch watch) {
        thread = Thread.ofPlatform().daemon().name(name).unstarted(() -> {
            try {
                watch.run();
            } catch (InterruptedException e) {
                log.debug("{} interrupted", name, e);
            }
        });
    }

    void start() {
        thread.start();
    }

    /** Rests for a time. Returns false as soon as the watch is closed. */
    boolean rest(Duration time) throws InterruptedException {
        return !closed.await(time.toNanos(), TimeUnit.NANOSECONDS);
    }

    boolean isClosed() {
        return closed.getCount() == 0;
    }

    /** Ends the thread after the comparison in progress. */
    void end() {
        closed.countDown();
    }

    /**
     * Ends the thread. Waits a few seconds for the comparison in progress, which would otherwise use what is
     * closed next.
     */
    @Override
    public void close() {
        end();
        try {
            if (thread.isAlive() && !thread.join(LONGEST_WAIT)) {
                log.warn(
                        "{} has not ended after {} s; the shutdown continues",
                        thread.getName(),
                        LONGEST_WAIT.toSeconds());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
