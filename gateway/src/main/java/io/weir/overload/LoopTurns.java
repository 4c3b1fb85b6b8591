package io.weir.overload;

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;

/**
 * Costly tasks of one event loop, such as TLS handshakes: it begins one of them in each of its iterations.
 * The others wait for a later iteration, first come, first served. While tasks wait, the next iteration
 * begins at once, so they use all of the loop's time that requests leave.
 *
 * <p>The waiting tasks belong to open connections, so the limit of connections bounds their number.
 */
// Concurrency: confined to the event loop.
final class LoopTurns implements Runnable {

    private final LoopDelay.Timer loop;
    private final Set<Runnable> waiting = new LinkedHashSet<>();
    /** A task has begun in this iteration. */
    private boolean isTaken;

    private boolean isScheduled;

    LoopTurns(LoopDelay.Timer loop) {
        this.loop = loop;
    }

    /** Takes a turn; if there is none left, the task runs in a later iteration. */
    boolean take(Runnable task) {
        boolean mayBegin = !isTaken && waiting.isEmpty();
        if (mayBegin) {
            isTaken = true;
        } else {
            waiting.add(task);
        }
        schedule();
        return mayBegin;
    }

    /** A task no longer waits: its connection is closed. */
    void leave(Runnable task) {
        waiting.remove(task);
    }

    /** Another iteration: the task that has waited longest runs. */
    @Override
    public void run() {
        isScheduled = false;
        Iterator<Runnable> first = waiting.iterator();
        isTaken = first.hasNext();
        if (isTaken) {
            Runnable task = first.next();
            first.remove();
            schedule();
            task.run();
        }
    }

    /** Runs all waiting tasks. */
    void close() {
        while (!waiting.isEmpty()) {
            run();
        }
    }

    /** A loop runs the timers that its tasks set in its next iteration, after what it reads there. */
    private void schedule() {
        if (isScheduled) {
            return;
        }
        try {
            loop.schedule(this, 0);
            isScheduled = true;
        } catch (RejectedExecutionException e) {
            // The loop has stopped, and closes its connections.
            waiting.clear();
        }
    }
}
