package io.weir.limit;

import io.weir.limit.Limit.Beliefs;
import io.weir.limit.Limit.Change;
import io.weir.limit.Limit.Evidence;
import io.weir.limit.QueueingBulkhead.Overflow;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.DoubleSupplier;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The limit that a backend's bulkhead has in force: the lowest of
 *
 * <ul>
 *   <li>its {@link Limit}, fixed or adaptive;
 *   <li>an operator's limit, which holds until it is released; it replaces a fixed limit, so an operator can
 *       also raise that;
 *   <li>the ceiling that the backend's health sets while the backend recovers, or while some of its instances
 *       are out.
 * </ul>
 *
 * <p>The {@link LostPermits} of calls that hang are added to an adaptive limit, up to its {@code max}.
 *
 * <p>An adaptive limit learns only while its own value is the lowest: otherwise the calls in flight show the
 * effect of another number. While instances are out, its own value is the part of the others: what it has
 * learnt is scaled when an instance leaves or returns. It survives a change to a fixed limit and back.
 */
// Concurrency: `configured`, `operatorLimit` and the source of the ceiling are independent; the bulkhead may
// be resized by several threads at once. Each of them reads all values again after it has resized, so the
// last resize uses the last values.
public final class LimitInForce {

    /** No limit by an operator, and no ceiling. */
    public static final int NONE = Integer.MAX_VALUE;

    /** The mark of a call that gives no sample. */
    private static final int NO_SAMPLE = -1;

    private final QueueingBulkhead bulkhead;
    private final LongSupplier nanoClock;
    private final LongSupplier wallClock;
    private final AtomicReference<Configured> configured;
    private final AnswerPace pace = new AnswerPace();
    private final LostPermits lost = new LostPermits();
    /** The adaptive limit, which is kept while a fixed one is in force; null if there has been none. */
    private volatile @Nullable Limit learning;

    private volatile @Nullable QueueingBulkhead dryRun;
    private volatile int operatorLimit = NONE;
    private volatile IntSupplier ceiling = () -> NONE;
    private volatile DoubleSupplier share = () -> 1;
    private volatile boolean isFixedByOperator;
    private volatile Runnable onLearnt = () -> {};

    /** The number that is in force: the lowest one. */
    public enum Binding {
        /** The number that an adaptive limit has found. */
        AUTO,
        /** The configured number. */
        FIXED,
        /** An operator's number. */
        OPERATOR,
        /** The ceiling while the backend recovers, or a fixed limit's while instances are out. */
        RAMP;

        /** The word in JSON, such as {@code auto}. */
        public String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** The settings and the limit that follows them. */
    private record Configured(LimitSettings settings, Limit limit) {}

    /** The numbers of a bulkhead. */
    private record Numbers(int permits, int queueCapacity, Overflow overflow) {}

    /** A fixed limit with the present numbers of a bulkhead, at first without a ceiling. */
    public LimitInForce(QueueingBulkhead bulkhead) {
        this(bulkhead, LimitSettings.fixed(bulkhead.maxConcurrentCalls(), bulkhead.queueCapacity()), () -> 0, () -> 0);
    }

    /**
     * The limit of a bulkhead, without a ceiling. It resizes the bulkhead.
     *
     * @param nanoClock the clock of the samples
     * @param wallClock nanoseconds of the wall clock, by which the gateways in front of one backend measure
     *     it together
     */
    public LimitInForce(
            QueueingBulkhead bulkhead, LimitSettings settings, LongSupplier nanoClock, LongSupplier wallClock) {
        this.bulkhead = bulkhead;
        this.nanoClock = nanoClock;
        this.wallClock = wallClock;
        this.configured = new AtomicReference<>(new Configured(settings, limitOf(settings)));
        update();
    }

    /** A given limit, with the bulkhead's present queue. For tests. */
    public LimitInForce(QueueingBulkhead bulkhead, Limit limit) {
        this.bulkhead = bulkhead;
        this.nanoClock = () -> 0;
        this.wallClock = () -> 0;
        this.learning = limit;
        LimitSettings settings = LimitSettings.adaptive(AdaptiveLimit.Bounds.DEFAULT, bulkhead.queueCapacity(), 0);
        this.configured = new AtomicReference<>(new Configured(settings, limit));
    }

    private Limit limitOf(LimitSettings settings) {
        if (!settings.isAdaptive()) {
            return new FixedLimit(settings.fixed());
        }
        if (learning instanceof AdaptiveLimit known) {
            known.configure(settings.bounds(), settings.deadlineNanos());
            return known;
        }
        AdaptiveLimit created = new AdaptiveLimit(
                settings.bounds(),
                settings.deadlineNanos(),
                nanoClock.getAsLong(),
                wallClock.getAsLong(),
                this::putLearntInForce);
        learning = created;
        return created;
    }

    private void putLearntInForce() {
        update();
        onLearnt.run();
    }

    // ---------------------------------------------------------------- changes

    /**
     * Sets the action to run each time that an adaptive limit, or its queue, has changed; it replaces the
     * previous one. One call at a time. It must neither block nor throw.
     */
    public void onLearnt(Runnable action) {
        onLearnt = action;
    }

    /**
     * Sets the source of the ceiling; it replaces the previous one.
     *
     * @param source returns 1 or more; {@link #NONE}: no ceiling
     */
    public void limitBy(IntSupplier source) {
        limitBy(source, () -> 1);
    }

    /**
     * Sets the sources of the ceiling and of the share; they replace the previous ones.
     *
     * @param source returns 1 or more; {@link #NONE}: no ceiling
     * @param shareSource returns the share of the limit that the ceiling is; 1: it is another number, or
     *     there is none; 0: it changes with each call, so nothing is learnt
     */
    public void limitBy(IntSupplier source, DoubleSupplier shareSource) {
        ceiling = source;
        share = shareSource;
        update();
    }

    /**
     * Changes the settings. An adaptive limit keeps what it has learnt. One thread at a time.
     */
    public void configure(LimitSettings settings) {
        if (!configured.get().settings.equals(settings)) {
            configured.set(new Configured(settings, limitOf(settings)));
        }
        update();
    }

    /**
     * Sets an operator's limit. It holds until it is released, also when the settings change.
     *
     * @param limit 1 to {@value QueueingBulkhead#LARGEST}; {@link #NONE} releases the limit
     */
    public void limitByOperator(int limit) {
        if (limit != NONE && (limit < 1 || limit > QueueingBulkhead.LARGEST)) {
            throw new IllegalArgumentException(
                    "max-concurrent-calls: %d (expected: 1 to %d)".formatted(limit, QueueingBulkhead.LARGEST));
        }
        operatorLimit = limit;
        update();
    }

    /** Shows a fixed limit as an operator's, or as the configuration's. Changes nothing else. */
    public void showOperators(boolean isOperators) {
        isFixedByOperator = isOperators;
    }

    /** Sets the bulkhead of the dry run, which gets the same numbers; null: there is none. */
    public void countIn(@Nullable QueueingBulkhead counting) {
        dryRun = counting;
        update();
    }

    /** Puts changed numbers in force. */
    public void update() {
        while (true) {
            double followed = share.getAsDouble();
            if (followed > 0 && learning instanceof AdaptiveLimit adaptive) {
                adaptive.scaleTo(followed);
            }
            Numbers numbers = numbers();
            QueueingBulkhead counting = dryRun;
            bulkhead.resize(numbers.permits, numbers.queueCapacity, numbers.overflow);
            if (counting != null) {
                counting.resize(numbers.permits, numbers.queueCapacity, numbers.overflow);
            }
            if (numbers().equals(numbers) && dryRun == counting && share.getAsDouble() == followed) {
                return;
            }
        }
    }

    private Numbers numbers() {
        Configured seen = configured.get();
        int capacity = seen.settings.queueCapacity();
        if (capacity == LimitSettings.AUTO) {
            capacity = seen.limit instanceof AdaptiveLimit adaptive ? adaptive.queueCapacity() : 0;
        }
        int own = permits(seen);
        if (seen.limit instanceof AdaptiveLimit adaptive && isLowest(adaptive)) {
            own = lost.addTo(own, seen.settings.bounds().max());
        }
        return new Numbers(
                Math.min(own, ceiling.getAsInt()),
                capacity,
                seen.settings.isAdaptive() ? Overflow.EVICT_OLDEST : Overflow.REFUSE_NEWCOMER);
    }

    private int permits(Configured seen) {
        int operators = operatorLimit;
        return seen.settings.isAdaptive() || operators == NONE ? Math.min(seen.limit.value(), operators) : operators;
    }

    // ---------------------------------------------------------------- samples

    /**
     * A call has received its permit.
     *
     * @return a mark, to be handed to {@link #ended}
     */
    public int started(long nowNanos) {
        Limit limit = configured.get().limit;
        boolean counts = limit == learning && isLowest(limit);
        return counts ? limit.started(nowNanos, lost.without(bulkhead.inUse())) : NO_SAMPLE;
    }

    /**
     * A call has ended; once for each started call, before its permit is released.
     *
     * @param mark the result of {@link #started}
     * @param latencyNanos as for {@link Limit#ended}
     */
    public void ended(long nowNanos, int mark, long latencyNanos, Evidence evidence) {
        if (lost.hasFaded(nowNanos)) {
            update();
        }
        if (mark == NO_SAMPLE) {
            return;
        }
        Limit limit = learning;
        if (limit != null) {
            boolean counts = configured.get().limit == limit && isLowest(limit) && !isFutileProbe(limit);
            Evidence counted = counts ? evidence : Evidence.NONE;
            limit.ended(nowNanos, mark, latencyNanos, counted, lost.without(bulkhead.inUse()));
        }
    }

    /** A call that the backend leaves behind has given its permit back, which it has held for this time. */
    public void leftBehind(long heldNanos, long nowNanos) {
        if (lost.add(heldNanos, nowNanos)) {
            update();
        }
    }

    /**
     * The wait for a permit after which {@link #waited} is due; {@link Long#MAX_VALUE}: never, since the
     * limit learns nothing from calls that wait.
     */
    public long longWaitNanos() {
        return configured.get().limit instanceof AdaptiveLimit adaptive ? adaptive.longWaitNanos() : Long.MAX_VALUE;
    }

    /**
     * A call has waited for {@link #longWaitNanos}, or was refused a permit.
     *
     * @param sinceNanos the moment at which it started to wait
     */
    public void waited(long nowNanos, long sinceNanos) {
        if (configured.get().limit instanceof AdaptiveLimit adaptive && isLowest(adaptive)) {
            adaptive.waited(nowNanos, sinceNanos);
        }
    }

    /** Whether the calls in flight show the effect of this limit. */
    private boolean isLowest(Limit limit) {
        int value = limit.value();
        if (value > operatorLimit) {
            return false;
        }
        int most = ceiling.getAsInt();
        if (limit instanceof AdaptiveLimit adaptive && !adaptive.isWhole()) {
            return adaptive.isPartOf(share.getAsDouble(), most);
        }
        return value <= most;
    }

    /** Without enforcement, calls exceed the lower limit of a probe, so the probe measures nothing. */
    private boolean isFutileProbe(Limit limit) {
        return dryRun != null && limit.beliefs().lastChange() == Change.PROBE;
    }

    /**
     * Whether an end is evidence for the limit only, and not a failure of the backend: it is a sign of
     * overload that a lower limit can relieve.
     *
     * @param latencyNanos the time of the call in the backend
     */
    public boolean absorbs(Evidence end, long latencyNanos) {
        return configured.get().limit instanceof AdaptiveLimit adaptive
                && isLowest(adaptive)
                && adaptive.absorbs(end, latencyNanos);
    }

    // ---------------------------------------------------------------- facts

    /** The limit and an operator's, apart from the ceiling. */
    public int permits() {
        return permits(configured.get());
    }

    /** The limit, fixed or adaptive; a change of the settings may replace it. */
    public Limit limit() {
        return configured.get().limit;
    }

    /** The number that the bulkhead has in force. */
    public int inForce() {
        return bulkhead.maxConcurrentCalls();
    }

    /** Where the number in force comes from. */
    public Binding binding() {
        Configured seen = configured.get();
        int operators = operatorLimit;
        if (ceiling.getAsInt() < permits(seen) && !isLowest(seen.limit)) {
            return Binding.RAMP;
        }
        if (seen.settings.isAdaptive()) {
            return operators < seen.limit.value() ? Binding.OPERATOR : Binding.AUTO;
        }
        return operators != NONE || isFixedByOperator ? Binding.OPERATOR : Binding.FIXED;
    }

    /** The figures behind the limit. */
    public Beliefs beliefs() {
        return limit().beliefs();
    }

    /** Changes of the adaptive limit for this reason, since the backend was created; 0 if it has had none. */
    public long changes(Change reason) {
        Limit limit = learning;
        return limit == null ? 0 : limit.changes(reason);
    }

    /** The pace of the backend's answers. */
    public AnswerPace pace() {
        return pace;
    }

    /** Whether the limit adapts. */
    public boolean isAdaptive() {
        return configured.get().settings.isAdaptive();
    }

    /** The smallest value of the limit; of a fixed limit, its number. */
    public int min() {
        Configured seen = configured.get();
        return seen.settings.isAdaptive() ? seen.settings.bounds().min() : seen.limit.value();
    }

    /** The largest value of the limit; of a fixed limit, its number. */
    public int max() {
        Configured seen = configured.get();
        return seen.settings.isAdaptive() ? seen.settings.bounds().max() : seen.limit.value();
    }

    /** An operator's limit; {@link #NONE}: none. */
    public int operatorLimit() {
        return operatorLimit;
    }
}
