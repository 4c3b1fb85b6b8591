package io.weir.testing;

import io.weir.management.OperatorChangeStore;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** A clock that the test moves, and the tasks that run at its moments. Not thread-safe. */
public final class VirtualTimer implements OperatorChangeStore.Scheduler {

    private static final long START_NANOS = Long.MAX_VALUE - 1_000;

    /** Equal only to itself. */
    private static final class Scheduled {
        private final Runnable task;
        private final long atNanos;

        Scheduled(Runnable task, long atNanos) {
            this.task = task;
            this.atNanos = atNanos;
        }
    }

    private final List<Scheduled> scheduled = new ArrayList<>();
    private long passedNanos;

    @Override
    public Runnable schedule(Runnable task, long delayNanos) {
        Scheduled later = new Scheduled(task, passedNanos + delayNanos);
        scheduled.add(later);
        return () -> scheduled.remove(later);
    }

    /** The monotonic clock, whose values overflow soon after the start. */
    public long nanos() {
        return START_NANOS + passedNanos;
    }

    /** The clock that is shown, from the epoch on. */
    public Instant instant() {
        return Instant.EPOCH.plusNanos(passedNanos);
    }

    /** The number of tasks that will run. */
    public int tasks() {
        return scheduled.size();
    }

    /** The next task, as a thread has it that has taken it from the queue and does not run it yet. */
    public Runnable takeNext() {
        Scheduled next = scheduled.stream()
                .min(Comparator.comparingLong(each -> each.atNanos))
                .orElseThrow(() -> new AssertionError("no task is scheduled"));
        scheduled.remove(next);
        passedNanos = Math.max(passedNanos, next.atNanos);
        return next.task;
    }

    /** Moves the clock, and runs each task at its moment. */
    public void advance(Duration time) {
        long end = passedNanos + time.toNanos();
        while (scheduled.stream().anyMatch(each -> each.atNanos <= end)) {
            takeNext().run();
        }
        passedNanos = end;
    }
}
