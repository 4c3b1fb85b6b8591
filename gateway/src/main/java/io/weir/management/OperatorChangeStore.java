package io.weir.management;

import io.weir.management.OperatorChange.Term;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The changes by operators that are in force, and one timer for their ends. The timer only calls the tasks
 * that end changes. They compare each change's time with the clock, so a call that comes too early ends
 * nothing.
 */
// Concurrency: the changes are one immutable value, replaced under the monitor together with the timer's
// task. The monitor is not held while changes are ended.
public final class OperatorChangeStore implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(OperatorChangeStore.class);

    /** Between two attempts to end a change whose end failed. */
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** Runs a task later. */
    @FunctionalInterface
    public interface Scheduler {

        /**
         * Schedules a task.
         *
         * @return cancels it, and does not interrupt it if it runs already
         */
        Runnable schedule(Runnable task, long delayNanos);
    }

    private final Scheduler scheduler;
    private final LongSupplier nanoClock;
    private final InstantSource clock;
    private final List<Runnable> enders = new CopyOnWriteArrayList<>();
    private volatile HeldChanges inForce = HeldChanges.NONE;
    private Runnable cancelScheduled = () -> {};
    private boolean isClosed;

    /**
     * No changes.
     *
     * @param nanoClock {@link System#nanoTime}, except in tests
     * @param clock the times that are shown
     */
    public OperatorChangeStore(Scheduler scheduler, LongSupplier nanoClock, InstantSource clock) {
        this.scheduler = scheduler;
        this.nanoClock = nanoClock;
        this.clock = clock;
    }

    /** Adds a task that ends some of the changes that are {@link #over}, and removes them from the store. */
    public void addEnder(Runnable ender) {
        enders.add(ender);
    }

    /** The changes in force. */
    public HeldChanges inForce() {
        return inForce;
    }

    /** The changes in force whose time is over. */
    public HeldChanges over() {
        return inForce.over(nanoClock.getAsLong());
    }

    /**
     * The time of a change that begins now.
     *
     * @param lasting its time to live; null: it has no end
     */
    public Term term(@Nullable Duration lasting) {
        Instant since = clock.instant().truncatedTo(ChronoUnit.SECONDS);
        return lasting == null
                ? new Term(since, null, 0)
                : new Term(since, since.plus(lasting), nanoClock.getAsLong() + lasting.toNanos());
    }

    /** Replaces the changes of properties. */
    public void replaceProperties(HeldChanges next) {
        update(changes -> changes.without(changes.ofProperties()).with(next.all()));
    }

    synchronized void update(UnaryOperator<HeldChanges> change) {
        inForce = change.apply(inForce);
        schedule(HeldChanges.NONE);
    }

    private void endDue() {
        HeldChanges due = over();
        for (Runnable ender : enders) {
            try {
                ender.run();
            } catch (RuntimeException e) {
                log.error("Changes of operators could not be ended after their time", e);
            }
        }
        schedule(due);
    }

    /**
     * Sets the timer to the next end.
     *
     * @param tried changes whose end has just been tried
     */
    private synchronized void schedule(HeldChanges tried) {
        cancelScheduled.run();
        cancelScheduled = () -> {};
        if (isClosed) {
            return;
        }
        long now = nanoClock.getAsLong();
        inForce.all().stream()
                .filter(change -> change.term().hasEnd())
                .mapToLong(change -> tried.all().contains(change)
                        ? RETRY_NANOS
                        : Math.max(0, change.term().untilNanos() - now))
                .min()
                .ifPresent(delay -> cancelScheduled = scheduler.schedule(this::endDue, delay));
    }

    /** The gateway stops: changes stay as they are, and no time ends any more. */
    @Override
    public synchronized void close() {
        isClosed = true;
        schedule(HeldChanges.NONE);
    }
}
