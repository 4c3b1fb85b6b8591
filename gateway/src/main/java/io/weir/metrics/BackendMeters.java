package io.weir.metrics;

import io.micrometer.core.instrument.Counter;
import io.weir.capacity.CapacitySignal;
import io.weir.engine.Backend;
import io.weir.engine.BackendObserver;
import io.weir.engine.Compartment;
import io.weir.engine.ExchangeOutcomes;
import io.weir.engine.MoveReason;
import io.weir.faults.FaultType;
import io.weir.health.Health;
import io.weir.hedge.HedgeResult;
import io.weir.instance.AddressSource;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.instance.Pool;
import io.weir.instance.Violations;
import io.weir.limit.Limit;
import io.weir.limit.LimitInForce;
import io.weir.limit.LittlesLaw;
import io.weir.limit.Priority;
import io.weir.limit.QueueingBulkhead;
import io.weir.outcome.Reason;
import io.weir.overload.InFlightShare;
import io.weir.retry.RetryBudget;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Meters and MXBean of one backend and its compartment.
 *
 * <p>Created before the {@link io.weir.engine.Backend} that it observes, from the same parts. Events are
 * counted when they happen, without an allocation. States are read by the scrape.
 */
public final class BackendMeters implements BackendObserver, AutoCloseable {

    /** The words for the states of the breaker, forced states included. */
    static final List<String> BREAKER_STATES = List.of("closed", "open", "half-open", "forced-open", "forced-closed");

    private static final double NANOS_PER_SECOND = 1e9;
    private static final int PRIORITIES = Priority.values().length;

    private final MeterScope scope;
    private final InstanceMeters instanceMeters;
    private final String name;
    private final LittlesLaw law;
    private final ExchangeTotals totals = new ExchangeTotals();
    /** The parts that a change of the configuration may replace. */
    private volatile Parts parts;

    private volatile @Nullable AddressSource addresses;

    private volatile boolean isFloored;
    private volatile Runnable onRejected = () -> {};
    private boolean hasAgents;

    private final LateTimer queueWait;
    private final LateTimer budgetLeft;
    private final LateTimer serviceTime;
    private final Map<MoveReason, Counter> callsMoved = new EnumMap<>(MoveReason.class);
    private final Counter retriesAllowed;
    private final Counter retriesDenied;
    // Concurrency: two threads that create the counter of a reason get the same one; the order of their
    // writes does not matter.
    private final AtomicReferenceArray<@Nullable Counter> shed =
            new AtomicReferenceArray<>(ExchangeOutcomes.words().size() * PRIORITIES);

    /** The first ones, and the repeated ones. */
    private final AtomicReferenceArray<@Nullable Counter> attempts = new AtomicReferenceArray<>(2);

    private final AtomicReferenceArray<@Nullable Counter> hedges =
            new AtomicReferenceArray<>(HedgeResult.values().length);

    private final AtomicReferenceArray<@Nullable Counter> granted = new AtomicReferenceArray<>(PRIORITIES);

    private final AtomicReferenceArray<@Nullable Counter> wouldRefuse =
            new AtomicReferenceArray<>(ExchangeOutcomes.words().size());

    private final AtomicReferenceArray<@Nullable Counter> faults =
            new AtomicReferenceArray<>(FaultType.values().length);

    private record Parts(long maxWaitNanos, Instances instances, RetryBudget retryBudget) {

        /** The instances that have asked to be left alone for now. */
        long leftAlone() {
            return instances.all().stream()
                    .filter(one -> one.isLeftAlone(one.health().now()))
                    .count();
        }

        /** The sum over the pools of all instances. */
        int sum(ToIntFunction<Pool> figure) {
            int sum = 0;
            for (Instance instance : instances.all()) {
                sum += figure.applyAsInt(instance.pool());
            }
            return sum;
        }
    }

    /**
     * The meters of a backend.
     *
     * @param scope owns the meters; if this constructor fails, its caller closes the scope
     * @param name the backend's name
     * @param compartment the parts whose states are shown
     * @param maxWaitNanos longest wait for a permit
     */
    public BackendMeters(
            MeterScope scope, String name, Compartment compartment, long maxWaitNanos, RetryBudget retryBudget) {
        this.name = name;
        this.parts = new Parts(maxWaitNanos, compartment.instances(), retryBudget);
        this.law = compartment.serviceTime().littlesLaw();
        this.scope = scope;
        this.queueWait = new LateTimer(scope, BackendMeter.QUEUE_WAIT, name);
        this.budgetLeft = new LateTimer(scope, BackendMeter.BUDGET_LEFT, name);
        this.serviceTime = new LateTimer(scope, BackendMeter.SERVICE_TIME, name);
        for (MoveReason reason : MoveReason.values()) {
            callsMoved.put(reason, scope.counter(BackendMeter.CALLS_MOVED, name, reason.word()));
        }
        this.retriesAllowed = scope.counter(BackendMeter.RETRIES, name, "allowed");
        this.retriesDenied = scope.counter(BackendMeter.RETRIES, name, "denied");
        QueueingBulkhead bulkhead = compartment.bulkhead();
        QueueingBulkhead streams = compartment.streams();
        InFlightShare share = compartment.inFlightShare();
        scope.gauge(BackendMeter.PERMITS_USED, bulkhead::inUse, name);
        scope.gauge(BackendMeter.PERMITS_LIMIT, bulkhead::maxConcurrentCalls, name);
        scope.gauge(BackendMeter.PERMITS_FLOORED, () -> isFloored ? 1 : 0, name);
        scope.gauge(BackendMeter.QUEUE_LENGTH, bulkhead::queued, name);
        for (Priority priority : Priority.values()) {
            scope.gauge(BackendMeter.QUEUE_WAITING, () -> bulkhead.queued(priority), name, priority.word());
        }
        scope.gauge(BackendMeter.QUEUE_CAPACITY, bulkhead::queueCapacity, name);
        scope.gauge(BackendMeter.QUEUE_WAIT_LIMIT, () -> parts.maxWaitNanos() / NANOS_PER_SECOND, name);
        scope.gauge(BackendMeter.STREAMS_USED, streams::inUse, name);
        scope.gauge(BackendMeter.STREAMS_LIMIT, streams::maxConcurrentCalls, name);
        scope.gauge(BackendMeter.BACKEND_IN_FLIGHT, share::inFlight, name);
        scope.gauge(BackendMeter.BACKEND_IN_FLIGHT_GUARANTEED, share::guaranteed, name);
        scope.gauge(BackendMeter.ADDRESSES_STALE, this::staleSeconds, name);
        scope.gauge(BackendMeter.RETRY_BUDGET, () -> parts.retryBudget().available(), name);
        breakerGauges(compartment.health());
        poolGauges();
        this.instanceMeters = new InstanceMeters(scope, name);
        instanceMeters.show(parts.instances());
        LimitInForce limit = compartment.limit();
        limitMeters(limit);
        capacityMeters(limit);
        Supplier<LittlesLaw.Figures> figures = () -> this.law.figures(limit.limit());
        lawGauges(figures);
        scope.bean(LittlesLawBean.nameOf(name), new LittlesLawBean(figures, bulkhead));
    }

    /**
     * Reads the parts of a successor from now on; the series and their counts stay, except those of instances
     * that are not among its own.
     */
    public void replaceParts(Backend successor) {
        parts = new Parts(successor.settings().maxWaitNanos(), successor.instances(), successor.retryBudget());
        instanceMeters.show(parts.instances());
    }

    /** Shows for how long the look-ups of this source have failed. */
    public void showAddresses(AddressSource source) {
        addresses = source;
    }

    private double staleSeconds() {
        AddressSource source = addresses;
        return source == null ? 0 : source.staleNanos() / NANOS_PER_SECOND;
    }

    /** Shows whether this gateway's share of a limit of scope cluster was rounded up to one permit. */
    public void setFloored(boolean floored) {
        isFloored = floored;
    }

    /**
     * Sets the action to run after each call that was shed because no permit was free; it replaces the
     * previous action.
     */
    public void onRejected(Runnable action) {
        onRejected = action;
    }

    private void breakerGauges(Health health) {
        for (String state : BREAKER_STATES) {
            scope.gauge(
                    BackendMeter.BREAKER_STATE,
                    () -> state.equals(Health.stateWord(health.state())) ? 1 : 0,
                    name,
                    state);
        }
        scope.gauge(BackendMeter.BREAKER_FORCED, () -> health.isForced() ? 1 : 0, name);
        scope.gauge(
                BackendMeter.BREAKER_ENFORCED, () -> health.settings().breaker().enforce() ? 1 : 0, name);
        scope.gauge(BackendMeter.BREAKER_PROBES, health.probes()::underWay, name);
        scope.gauge(BackendMeter.PUSHBACK_INSTANCES, () -> parts.leftAlone(), name);
        scope.gauge(BackendMeter.CALLS_OVERDUE, health::overdue, name);
    }

    private void poolGauges() {
        scope.gauge(BackendMeter.POOL_CONNECTIONS, () -> parts.sum(Pool::acquired), name, "acquired");
        scope.gauge(BackendMeter.POOL_CONNECTIONS, () -> parts.sum(Pool::idle), name, "idle");
        scope.gauge(BackendMeter.POOL_PENDING, () -> parts.sum(Pool::pending), name);
        scope.gauge(BackendMeter.POOL_LIMIT, () -> parts.sum(Pool::maxConnections), name);
        for (Violations.Kind kind : Violations.Kind.values()) {
            // All pools of a backend count together.
            scope.counter(
                    BackendMeter.BACKEND_VIOLATIONS,
                    () -> parts.instances().first().pool().violations().count(kind),
                    name,
                    kind.word());
        }
    }

    private void limitMeters(LimitInForce shown) {
        scope.gauge(BackendMeter.LIMIT, () -> shown.limit().value(), name);
        scope.gauge(BackendMeter.LIMIT_MIN, shown::min, name);
        scope.gauge(BackendMeter.LIMIT_MAX, shown::max, name);
        for (Limit.Change reason : Limit.Change.LEARNT) {
            scope.counter(BackendMeter.LIMIT_CHANGES, () -> shown.changes(reason), name, reason.word());
        }
        scope.gauge(BackendMeter.LIMIT_BASE_LATENCY, () -> shown.beliefs().baseLatencyNanos() / NANOS_PER_SECOND, name);
        scope.gauge(BackendMeter.LIMIT_ANSWER_RATE, () -> shown.beliefs().answersPerSecond(), name);
        scope.gauge(BackendMeter.LIMIT_UTILISATION, () -> shown.beliefs().utilisation(), name);
    }

    private void capacityMeters(LimitInForce shown) {
        scope.gauge(BackendMeter.CAPACITY_STATED, shown::stated, name);
        ignoredMeters(false);
        scope.counter(BackendMeter.CAPACITY_IGNORED, shown::disproofs, name, "disproved");
    }

    private void ignoredMeters(boolean areOfAgents) {
        for (CapacitySignal.Ignored reason : CapacitySignal.Ignored.values()) {
            if (reason.isOfAgent() == areOfAgents) {
                // All instances of a backend have one signal.
                scope.counter(
                        BackendMeter.CAPACITY_IGNORED,
                        () -> parts.instances().first().capacity().signal().ignored(reason),
                        name,
                        reason.word());
            }
        }
    }

    /** Shows what is ignored of agents, from the first configuration that has any. One thread at a time. */
    public void showAgents() {
        if (!hasAgents) {
            hasAgents = true;
            ignoredMeters(true);
        }
    }

    private void lawGauges(Supplier<LittlesLaw.Figures> shown) {
        scope.gauge(BackendMeter.LAW_ARRIVAL_RATE, () -> shown.get().arrivalRate(), name);
        scope.gauge(BackendMeter.LAW_SERVICE_TIME, () -> shown.get().serviceNanos() / NANOS_PER_SECOND, name);
        scope.gauge(BackendMeter.LAW_WAITING_TIME, () -> shown.get().waitingNanos() / NANOS_PER_SECOND, name);
        scope.gauge(BackendMeter.LAW_ACTIVE_CALLS, () -> shown.get().activeCalls(), name);
        scope.gauge(BackendMeter.LAW_WAITING_RATIO, () -> shown.get().waitingShare(), name);
        scope.gauge(BackendMeter.LAW_UNCONGESTED_TIME, () -> shown.get().uncongestedNanos() / NANOS_PER_SECOND, name);
        scope.gauge(BackendMeter.LAW_SUGGESTED_LIMIT, () -> shown.get().suggestedLimit(), name);
    }

    @Override
    public void dispatched(Priority priority, long queueNanos, long leftNanos) {
        count(BackendMeter.PERMITS_GRANTED, granted, priority.rank(), priority.word(), null);
        queueWait.record(queueNanos);
        budgetLeft.record(leftNanos);
    }

    @Override
    public void served(long backendNanos) {
        serviceTime.record(backendNanos);
    }

    @Override
    public void movedToStreams(MoveReason reason) {
        Objects.requireNonNull(callsMoved.get(reason)).increment();
    }

    @Override
    public void attempted(boolean isFirst) {
        count(BackendMeter.ATTEMPTS, attempts, isFirst ? 0 : 1, isFirst ? "first" : "repeated", null);
    }

    @Override
    public void retried(boolean allowed) {
        (allowed ? retriesAllowed : retriesDenied).increment();
    }

    @Override
    @SuppressWarnings("EnumOrdinal") // An index into an array of the same process; never stored.
    public void hedged(HedgeResult result) {
        count(BackendMeter.HEDGES, hedges, result.ordinal(), result.word(), null);
    }

    @Override
    public void wouldRefuse(Reason reason) {
        count(BackendMeter.WOULD_REFUSE, wouldRefuse, ExchangeOutcomes.index(reason), reason.word(), null);
    }

    @Override
    @SuppressWarnings("EnumOrdinal") // An index into an array of the same process; never stored.
    public void faultInjected(FaultType type) {
        count(BackendMeter.FAULTS_INJECTED, faults, type.ordinal(), type.word(), null);
    }

    /** Counts an exchange with this backend that was shed. */
    void shed(Reason reason, Priority priority) {
        int index = ExchangeOutcomes.index(reason) * PRIORITIES + priority.rank();
        count(BackendMeter.SHED, shed, index, reason.word(), priority.word());
        if (reason.isBulkheads()) {
            onRejected.run();
        }
    }

    private void count(
            Meters meter,
            AtomicReferenceArray<@Nullable Counter> counters,
            int index,
            String tag,
            @Nullable String secondTag) {
        Counter counter = counters.get(index);
        if (counter == null) {
            counter = secondTag == null
                    ? scope.counterIfOpen(meter, name, tag)
                    : scope.counterIfOpen(meter, name, tag, secondTag);
            if (counter == null) {
                return;
            }
            counters.set(index, counter);
        }
        counter.increment();
    }

    /** The number of exchanges that a protection in dry-run mode would have refused, by the reason's word. */
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

    /** The number of calls that had no answer at the time of their hedge, by the result's word. */
    @SuppressWarnings("EnumOrdinal") // An index into an array of the same process; never stored.
    public Map<String, Long> hedges() {
        Map<String, Long> counts = new TreeMap<>();
        for (HedgeResult result : HedgeResult.values()) {
            Counter counter = hedges.get(result.ordinal());
            if (counter != null) {
                counts.put(result.word(), (long) counter.count());
            }
        }
        return counts;
    }

    /** The live figures of Little's law. */
    public LittlesLaw law() {
        return law;
    }

    /** Totals of the exchanges with this backend. */
    public ExchangeTotals totals() {
        return totals;
    }

    /** Calls that have used a permit and ended, since the start. */
    public long served() {
        return serviceTime.count();
    }

    /** Attempts since the start: the first ones of their calls. */
    public long firstAttempts() {
        return attempts(0);
    }

    /** Attempts since the start: the repeated ones. */
    public long repeatedAttempts() {
        return attempts(1);
    }

    private long attempts(int index) {
        Counter counter = attempts.get(index);
        return counter == null ? 0 : (long) counter.count();
    }

    /** Calls that got a permit, since the start. */
    public long dispatched() {
        return budgetLeft.count();
    }

    /**
     * The sum of the time left of their deadlines when calls got a permit, since the start, in nanoseconds.
     */
    public double budgetLeftNanos() {
        return budgetLeft.totalNanos();
    }

    /** Removes the backend's series and its MXBean. */
    @Override
    public void close() {
        scope.close();
    }
}
