package io.weir.authentication;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A fetch of an issuer's keys that is under way, and the requests that wait for its end; at most
 * {@value #MAX_WAITING}.
 */
// Concurrency: `waiting` bounds the tasks; two threads at the bound are both refused at worst.
public final class KeyFetch {

    /** A caller can invent keys; each waiting request holds its memory until the end of the fetch. */
    static final int MAX_WAITING = 4096;

    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private final AtomicInteger waiting = new AtomicInteger();

    /** Runs a task once after the end, at once if it is over; false if too many tasks wait. */
    boolean whenEnded(Runnable task) {
        if (waiting.incrementAndGet() > MAX_WAITING) {
            waiting.decrementAndGet();
            return false;
        }
        // A task that fails must not keep the others from running: each has a stage of its own.
        var _ = ended.thenRun(task);
        return true;
    }

    /** The fetch has ended; the keys in force are the new ones, if there are any. */
    void end() {
        ended.complete(null);
    }
}
