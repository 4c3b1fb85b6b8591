package io.weir.wiring;

import io.weir.management.ExpiryTimer;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends the changes of operators that have a time to live. Its only thread begins with the first of them: an
 * end applies a configuration, which blocks. A class of its own, since Spring Boot adds meters to each
 * executor that is a bean, and does without its own one.
 */
final class OperatorChangesTimer implements ExpiryTimer.Scheduler, AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(OperatorChangesTimer.class);

    private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(
            1, Thread.ofPlatform().daemon().name("weir-operator-changes").factory());

    OperatorChangesTimer() {
        timer.setRemoveOnCancelPolicy(true);
        timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    @Override
    public Runnable schedule(Runnable task, long delayNanos) {
        ScheduledFuture<?> scheduled = timer.schedule(() -> runLogged(task), delayNanos, TimeUnit.NANOSECONDS);
        return () -> scheduled.cancel(false);
    }

    private static void runLogged(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException e) {
            log.error("Changes of operators could not be ended after their time", e);
        }
    }

    /** No task begins any more; one that runs is completed. */
    @Override
    public void close() {
        timer.shutdown();
    }
}
