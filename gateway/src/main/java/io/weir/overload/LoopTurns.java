package io.weir.overload;

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * The costly tasks that one event loop may begin in each of its iterations, such as TLS handshakes: any
 * number while it has no standing delay and no task waits, {@value #PER_ITERATION} otherwise. The others wait
 * for a later iteration, first come, first served.
 *
 * <p>The waiting tasks belong to open connections, so the limit of connections bounds their number.
 */
// Concurrency: confined to the event loop.
final class LoopTurns {

    static final int PER_ITERATION = 2;

    private final Set<Runnable> waiting = new LinkedHashSet<>();
    private int begun;

    /** Takes a turn; if there is none left, the task runs in a later iteration. */
    boolean take(boolean isShedding, Runnable task) {
        if (waiting.isEmpty() && (!isShedding || begun < PER_ITERATION)) {
            begun++;
            return true;
        }
        waiting.add(task);
        return false;
    }

    /** A task no longer waits: its connection is closed. */
    void leave(Runnable task) {
        waiting.remove(task);
    }

    boolean areWaiting() {
        return !waiting.isEmpty();
    }

    /** Another iteration: the tasks that have waited longest run. */
    void nextIteration() {
        begun = 0;
        while (begun < PER_ITERATION && !waiting.isEmpty()) {
            begun++;
            Iterator<Runnable> first = waiting.iterator();
            Runnable task = first.next();
            first.remove();
            task.run();
        }
    }

    /** Runs all waiting tasks, since {@link #nextIteration} is not called any more. */
    void close() {
        while (!waiting.isEmpty()) {
            nextIteration();
        }
    }
}
