package io.weir.faults;

import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Starts and ends faults. The end of each fault is fixed at its start: {@link ActiveFaults} ignores a fault
 * after its end, even if its timer has not fired yet.
 */
// Concurrency: guarded by its monitor, on management threads and on the timer's. Event loops read only the
// published ActiveFaults. The thread that removes a fault from the map reports its end.
public final class InjectedFaults implements AutoCloseable {

    /** Maximum number of active faults: a call looks at each of them. */
    public static final int MAX_ACTIVE = 16;

    /** Runs a task later. */
    public interface Timer {

        /**
         * Schedules a task.
         *
         * @return a task that cancels it
         */
        Runnable schedule(Runnable task, long delayNanos);
    }

    /** Reports the beginning and the end of each fault. Called without the monitor; must not throw. */
    public interface Listener {

        /** A fault has started. */
        void started(InjectedFault fault);

        /**
         * A fault has ended.
         *
         * @param by name of the operator that ended it; null: its time is over
         */
        void ended(InjectedFault fault, @Nullable String by);
    }

    /** The gateway refuses the order of a fault. */
    public static final class RefusedOrderException extends RuntimeException {

        private static final long serialVersionUID = 1;

        /** The cause of a refusal. */
        public enum Cause {
            /** {@code weir.faults.enabled} is false. */
            DISABLED,
            /** A value is out of its range. */
            INVALID,
            /** Too many faults are active. */
            FULL
        }

        private final Cause why;

        RefusedOrderException(Cause why, String message) {
            super(message, null, false, false);
            this.why = why;
        }

        /** The cause. */
        public Cause why() {
            return why;
        }
    }

    private record Running(InjectedFault fault, Runnable cancelTimer) {}

    private final FaultInjectionProperties properties;
    private final Consumer<@Nullable ActiveFaults> receiver;
    private final Listener listener;
    private final Timer timer;
    private final LongSupplier nanoClock;
    private final InstantSource clock;
    private final DoubleSupplier random;
    /** By number, the oldest first. */
    private final Map<Long, Running> running = new LinkedHashMap<>();

    private long lastNumber;

    /**
     * No active faults.
     *
     * @param receiver gets the active faults after each change; null: none is active
     * @param nanoClock the engine's clock
     * @param clock the times that are shown
     * @param random 0 (inclusive) to 1 (exclusive)
     */
    public InjectedFaults(
            FaultInjectionProperties properties,
            Consumer<@Nullable ActiveFaults> receiver,
            Listener listener,
            Timer timer,
            LongSupplier nanoClock,
            InstantSource clock,
            DoubleSupplier random) {
        this.properties = properties;
        this.receiver = receiver;
        this.listener = listener;
        this.timer = timer;
        this.nanoClock = nanoClock;
        this.clock = clock;
        this.random = random;
    }

    /** Whether faults can be started. */
    public boolean isEnabled() {
        return properties.enabled();
    }

    /** The longest time for which a fault may be asked. */
    public Duration maxDuration() {
        return properties.maxDuration();
    }

    /**
     * Starts a fault.
     *
     * @param by the operator
     * @throws RefusedOrderException if faults are disabled, the duration is too long, or too many are active
     */
    public InjectedFault start(FaultOrder order, String by) {
        requireEnabled();
        if (order.duration().compareTo(properties.maxDuration()) > 0) {
            throw new RefusedOrderException(
                    RefusedOrderException.Cause.INVALID,
                    "duration: " + FaultOrder.text(order.duration()) + " (expected: at most weir.faults.max-duration, "
                            + FaultOrder.text(properties.maxDuration()) + ")");
        }
        InjectedFault fault;
        synchronized (this) {
            if (running.size() == MAX_ACTIVE) {
                throw new RefusedOrderException(
                        RefusedOrderException.Cause.FULL,
                        "faults: " + MAX_ACTIVE + " are active (expected: fewer; end one first)");
            }
            long lasting = order.duration().toNanos();
            lastNumber++;
            long number = lastNumber;
            fault = new InjectedFault(number, order, by, clock.instant(), nanoClock.getAsLong() + lasting);
            running.put(number, new Running(fault, timer.schedule(() -> expired(number), lasting)));
            publish();
        }
        listener.started(fault);
        return fault;
    }

    /**
     * Throws if faults are disabled.
     *
     * @throws RefusedOrderException if faults are disabled
     */
    public void requireEnabled() {
        if (!properties.enabled()) {
            throw new RefusedOrderException(
                    RefusedOrderException.Cause.DISABLED,
                    "weir.faults.enabled: false (expected: true; needs a restart)");
        }
    }

    private void expired(long number) {
        InjectedFault fault = remove(number);
        if (fault != null) {
            listener.ended(fault, null);
        }
    }

    /**
     * Ends a fault. Its calls under way go on as they are.
     *
     * @param by the operator
     * @return the fault; null: none with this number is active
     */
    public @Nullable InjectedFault end(long number, String by) {
        InjectedFault fault = remove(number);
        if (fault != null) {
            listener.ended(fault, by);
        }
        return fault;
    }

    /**
     * Ends all faults.
     *
     * @return the faults that were active
     */
    public List<InjectedFault> endAll(String by) {
        List<InjectedFault> ended = removeAll();
        ended.forEach(fault -> listener.ended(fault, by));
        return ended;
    }

    /** The active faults, the oldest first. */
    public synchronized List<InjectedFault> active() {
        return running.values().stream().map(Running::fault).toList();
    }

    /** Ends all faults, since the gateway stops. No timer fires any more, and the listener is not called. */
    @Override
    public void close() {
        removeAll();
    }

    private synchronized @Nullable InjectedFault remove(long number) {
        Running removed = running.remove(number);
        if (removed == null) {
            return null;
        }
        removed.cancelTimer.run();
        publish();
        return removed.fault;
    }

    private synchronized List<InjectedFault> removeAll() {
        List<InjectedFault> removed = new ArrayList<>();
        running.values().forEach(each -> {
            each.cancelTimer.run();
            removed.add(each.fault);
        });
        running.clear();
        publish();
        return removed;
    }

    private void publish() {
        receiver.accept(running.isEmpty() ? null : new ActiveFaults(active(), random));
    }
}
