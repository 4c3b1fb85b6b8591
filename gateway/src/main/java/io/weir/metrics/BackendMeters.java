package io.weir.metrics;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Timer;
import io.weir.engine.BackendObserver;
import io.weir.engine.ExchangeOutcomes;
import io.weir.health.Breaker;
import io.weir.instance.Pool;
import io.weir.limit.LittlesLaw;
import io.weir.limit.QueueingBulkhead;
import io.weir.outcome.Reason;
import io.weir.retry.RetryBudget;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * What metrics and JMX tell of a backend and its compartment.
 *
 * <p>Built before the {@link io.weir.engine.Backend} that it observes, of the same parts. What happens is counted on
 * the way and allocates nothing; what is, is read when somebody asks.
 */
public final class BackendMeters implements BackendObserver, AutoCloseable {

    /** The words for the breaker's states, forced ones included; one of them holds. */
    static final List<String> BREAKER_STATES = List.of("closed", "open", "half-open", "forced-open", "forced-closed");

    private static final double SECOND = 1e9;

    private final MeterBook.MeterScope page;
    private final String name;
    private final LittlesLaw law;
    private final Tally tally = new Tally();
    /** What may be replaced while the backend stays. */
    private volatile Parts parts;

    private volatile boolean isFloored;
    private volatile Runnable whenRejected = () -> {};

    private final Timer queueWait;
    private final Timer budgetLeft;
    private final Timer serviceTime;
    private final Counter retriesAllowed;
    private final Counter retriesDenied;
    // Concurrency: two threads that find a reason new get the same counter, whoever writes it last.
    private final AtomicReferenceArray<@Nullable Counter> shed =
            new AtomicReferenceArray<>(ExchangeOutcomes.words().size());

    private final AtomicReferenceArray<@Nullable Counter> wouldRefuse =
            new AtomicReferenceArray<>(ExchangeOutcomes.words().size());

    private record Parts(long maxWaitNanos, Breaker breaker, Pool pool, RetryBudget retryBudget) {}

    /**
     * The meters of a backend.
     *
     * @param page takes them; whoever opened it closes it if this fails
     * @param name its name
     * @param bulkhead the cap on calls
     * @param streams the cap on streams
     * @param maxWaitNanos longest wait for a permit
     * @param law the live figures of the backend, fed by the engine
     */
    public BackendMeters(
            MeterBook.MeterScope page,
            String name,
            QueueingBulkhead bulkhead,
            QueueingBulkhead streams,
            long maxWaitNanos,
            Breaker breaker,
            Pool pool,
            RetryBudget retryBudget,
            LittlesLaw law) {
        this.name = name;
        this.parts = new Parts(maxWaitNanos, breaker, pool, retryBudget);
        this.law = law;
        this.page = page;
        this.queueWait = page.timer(Meters.QUEUE_WAIT, name);
        this.budgetLeft = page.timer(Meters.BUDGET_LEFT, name);
        this.serviceTime = page.timer(Meters.SERVICE_TIME, name);
        this.retriesAllowed = page.counter(Meters.RETRIES, name, "allowed");
        this.retriesDenied = page.counter(Meters.RETRIES, name, "denied");
        page.gauge(Meters.PERMITS_USED, bulkhead::inUse, name);
        page.gauge(Meters.PERMITS_LIMIT, bulkhead::maxConcurrentCalls, name);
        page.gauge(Meters.PERMITS_FLOORED, () -> isFloored ? 1 : 0, name);
        page.gauge(Meters.QUEUE_LENGTH, bulkhead::queued, name);
        page.gauge(Meters.QUEUE_CAPACITY, bulkhead::queueCapacity, name);
        page.gauge(Meters.QUEUE_WAIT_LIMIT, () -> parts.maxWaitNanos() / SECOND, name);
        page.gauge(Meters.STREAMS_USED, streams::inUse, name);
        page.gauge(Meters.STREAMS_LIMIT, streams::maxConcurrentCalls, name);
        page.gauge(Meters.RETRY_BUDGET, () -> parts.retryBudget().available(), name);
        breakerGauges();
        poolGauges();
        gauges(this.law);
        page.bean(LittlesLawBean.nameOf(name), new LittlesLawBean(this.law, bulkhead));
    }

    /** The backend goes on with these parts: its series go on with it. */
    public void follow(long maxWaitNanos, Breaker breaker, Pool pool, RetryBudget retryBudget) {
        parts = new Parts(maxWaitNanos, breaker, pool, retryBudget);
    }

    /** Whether the backend's share of a limit for all gateways would be less than one permit. */
    public void floored(boolean floored) {
        isFloored = floored;
    }

    /** What to do each time that a call was shed for want of a permit, in place of what was to do before. */
    public void whenRejected(Runnable action) {
        whenRejected = action;
    }

    private void breakerGauges() {
        for (String state : BREAKER_STATES) {
            page.gauge(Meters.BREAKER_STATE, () -> state.equals(stateWord(parts.breaker())) ? 1 : 0, name, state);
        }
        page.gauge(Meters.BREAKER_FORCED, () -> isForced(parts.breaker()) ? 1 : 0, name);
        page.gauge(Meters.BREAKER_PROBES, () -> parts.breaker().probesUnderWay(), name);
        page.gauge(Meters.CALLS_OVERDUE, () -> parts.breaker().overdue(), name);
    }

    private void poolGauges() {
        page.gauge(Meters.POOL_CONNECTIONS, () -> parts.pool().acquired(), name, "acquired");
        page.gauge(Meters.POOL_CONNECTIONS, () -> parts.pool().idle(), name, "idle");
        page.gauge(Meters.POOL_PENDING, () -> parts.pool().pending(), name);
        page.gauge(Meters.POOL_LIMIT, () -> parts.pool().maxConnections(), name);
    }

    private void gauges(LittlesLaw of) {
        page.gauge(Meters.LAW_ARRIVAL_RATE, () -> of.figures().arrivalRate(), name);
        page.gauge(Meters.LAW_SERVICE_TIME, () -> of.figures().serviceNanos() / SECOND, name);
        page.gauge(Meters.LAW_WAITING_TIME, () -> of.figures().waitingNanos() / SECOND, name);
        page.gauge(Meters.LAW_ACTIVE_CALLS, () -> of.figures().activeCalls(), name);
        page.gauge(Meters.LAW_WAITING_RATIO, () -> of.figures().waitingShare(), name);
        page.gauge(Meters.LAW_UNCONGESTED_TIME, () -> of.figures().uncongestedNanos() / SECOND, name);
        page.gauge(Meters.LAW_SUGGESTED_LIMIT, () -> of.figures().suggestedLimit(), name);
    }

    @Override
    public void dispatched(long queueNanos, long leftNanos) {
        queueWait.record(queueNanos, TimeUnit.NANOSECONDS);
        budgetLeft.record(leftNanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public void served(long backendNanos) {
        serviceTime.record(backendNanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public void retried(boolean allowed) {
        (allowed ? retriesAllowed : retriesDenied).increment();
    }

    @Override
    public void wouldRefuse(Reason reason) {
        count(Meters.WOULD_REFUSE, wouldRefuse, reason);
    }

    /** An exchange with this backend was shed. */
    void shed(Reason reason) {
        count(Meters.SHED, shed, reason);
        if (reason == Reason.BULKHEAD_FULL || reason == Reason.QUEUE_TIMEOUT) {
            whenRejected.run();
        }
    }

    private void count(Meters meter, AtomicReferenceArray<@Nullable Counter> counters, Reason reason) {
        int index = ExchangeOutcomes.index(reason);
        Counter counter = counters.get(index);
        if (counter == null) {
            counter = page.counterIfOpen(meter, name, reason.word());
            if (counter == null) {
                return;
            }
            counters.set(index, counter);
        }
        counter.increment();
    }

    /** How many exchanges went on that would have been refused, by the reason's word. */
    public Map<String, Long> wouldHaveRefused() {
        Map<String, Long> counts = new TreeMap<>();
        for (Reason reason : Reason.values()) {
            Counter counter = wouldRefuse.get(ExchangeOutcomes.index(reason));
            if (counter != null) {
                counts.put(reason.word(), (long) counter.count());
            }
        }
        return counts;
    }

    /** The backend's live figures. */
    public LittlesLaw law() {
        return law;
    }

    /** What exchanges came to. */
    public Tally tally() {
        return tally;
    }

    /** Calls that got their permit, since the start. */
    public long dispatched() {
        return budgetLeft.count();
    }

    /** The budgets that were left to them when they did, together. */
    public double budgetLeftNanos() {
        return budgetLeft.totalTime(TimeUnit.NANOSECONDS);
    }

    /** The backend is gone: so are its series and its MBean. */
    @Override
    public void close() {
        page.close();
    }

    /** The word for the state that the breaker is in. */
    public static String stateWord(Breaker breaker) {
        return switch (breaker.state()) {
            case CLOSED -> "closed";
            case OPEN -> "open";
            case HALF_OPEN -> "half-open";
            case FORCED_OPEN -> "forced-open";
            // Either permits every call and never opens.
            case DISABLED, METRICS_ONLY -> "forced-closed";
        };
    }

    /** Whether an operator holds the breaker. */
    public static boolean isForced(Breaker breaker) {
        return switch (breaker.state()) {
            case CLOSED, OPEN, HALF_OPEN -> false;
            case FORCED_OPEN, DISABLED, METRICS_ONLY -> true;
        };
    }
}
