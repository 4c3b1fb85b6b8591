package io.weir.wiring;

import io.weir.management.OperatorChangeStore;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Ends the changes of operators that have a time to live. Its only thread begins with the first of them: an
 * end applies a configuration, which blocks. A class of its own, since Spring Boot adds meters to each
 * executor that is a bean, and does without its own one.
 */
final class OperatorChangesTimer implements OperatorChangeStore.Scheduler, AutoCloseable {

    private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(
            1, Thread.ofPlatform().daemon().name("weir-operator-changes").factory());

    OperatorChangesTimer() {
        timer.setRemoveOnCancelPolicy(true);
        timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    @Override
    public Runnable schedule(Runnable task, long delayNanos) {
        ScheduledFuture<?> scheduled = timer.schedule(task, delayNanos, TimeUnit.NANOSECONDS);
        return () -> scheduled.cancel(false);
    }

    /** No task begins any more; one that runs is completed. */
    @Override
    public void close() {
        timer.shutdown();
    }
}
