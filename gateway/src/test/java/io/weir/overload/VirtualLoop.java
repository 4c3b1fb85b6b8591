package io.weir.overload;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** An event loop in virtual time: each iteration takes some time, and ends with the timers that are due. */
final class VirtualLoop implements LoopDelay.Timer, Executor {

    private record Task(Runnable task, long dueNanos) {}

    private final AtomicLong clock;
    private final List<Task> timers = new ArrayList<>();
    private boolean hasStopped;

    VirtualLoop(AtomicLong clock) {
        this.clock = clock;
    }

    @Override
    public void schedule(Runnable task, long delayNanos) {
        if (hasStopped) {
            throw new RejectedExecutionException("event executor terminated");
        }
        timers.add(new Task(task, clock.get() + delayNanos));
    }

    @Override
    public void execute(Runnable task) {
        throw new AssertionError("not used");
    }

    void stop() {
        hasStopped = true;
    }

    int pendingTimers() {
        return timers.size();
    }

    /** One iteration that takes this time. */
    void iterate(long millis) {
        iterateNanos(TimeUnit.MILLISECONDS.toNanos(millis));
    }

    /** One iteration that takes this time. */
    void iterateNanos(long nanos) {
        clock.addAndGet(nanos);
        runDueTimers();
    }

    /** Waits for timers, for this time. */
    void idle(long millis) {
        long endNanos = clock.get() + TimeUnit.MILLISECONDS.toNanos(millis);
        while (true) {
            long next = timers.stream()
                    .map(Task::dueNanos)
                    .min(Comparator.comparingLong(due -> due - clock.get()))
                    .orElse(endNanos);
            if (next - endNanos >= 0) {
                clock.set(endNanos);
                return;
            }
            clock.set(next - clock.get() > 0 ? next : clock.get());
            runDueTimers();
        }
    }

    /** Timers that these schedule run in the next iteration, as in Netty. */
    void runDueTimers() {
        List<Task> due = timers.stream()
                .filter(timer -> clock.get() - timer.dueNanos() >= 0)
                .toList();
        timers.removeAll(due);
        due.forEach(timer -> timer.task().run());
    }
}
