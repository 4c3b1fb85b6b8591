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
 *   <li>its {@link Limit}, fixed or adaptive, or the capacity that the backend states in place of an adaptive
 *       one;
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
// Concurrency: all that is set from outside is one immutable object in `state`. The ceiling and the share
// change with the backend's health, a ramp's with each call, so they are asked for when they are needed. The
// bulkhead may be resized by several threads at once. Each of them looks again after it has resized, so the
// last resize uses the last values.
public final class LimitInForce {

    /** No limit by an operator, and no ceiling. */
    public static final int NONE = LimitState.NONE;

    /** The mark of a call that gives no sample. */
    private static final int NO_SAMPLE = -1;

    private final QueueingBulkhead bulkhead;
    private final LongSupplier nanoClock;
    private final LongSupplier wallClock;
    private final AtomicReference<LimitState> state;
    private final AnswerPace pace = new AnswerPace();
    private final LostPermits lost = new LostPermits();
    private volatile Runnable onLearnt = () -> {};
    private volatile CapacitySource capacity = (learnt, now) -> CapacitySource.NONE;

    /** The number that is in force: the lowest one. */
    public enum Binding {
        /** The number that an adaptive limit has found. */
        AUTO,
        /** The number that the backend has stated, in place of that of an adaptive limit. */
        SIGNAL,
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
        Limit limit = limitOf(settings, null);
        this.state = new AtomicReference<>(new LimitState(settings, limit, settings.isAdaptive() ? limit : null));
        update();
    }

    /** A given limit, with the bulkhead's present queue. For tests. */
    public LimitInForce(QueueingBulkhead bulkhead, Limit limit) {
        this.bulkhead = bulkhead;
        this.nanoClock = () -> 0;
        this.wallClock = () -> 0;
        LimitSettings settings = LimitSettings.adaptive(LimitBounds.DEFAULT, bulkhead.queueCapacity(), 0);
        this.state = new AtomicReference<>(new LimitState(settings, limit, limit));
    }

    private Limit limitOf(LimitSettings settings, @Nullable Limit learning) {
        if (!settings.isAdaptive()) {
            return new FixedLimit(settings.fixed());
        }
        if (learning != null) {
            learning.configure(settings.bounds(), settings.deadlineNanos());
            return stated(learning, settings);
        }
        Limit learns = new AdaptiveLimit(
                settings.bounds(),
                settings.deadlineNanos(),
                nanoClock.getAsLong(),
                wallClock.getAsLong(),
                this::putLearntInForce);
        return stated(learns, settings);
    }

    /** The limit with the capacity signal on or off. */
    private Limit stated(Limit learns, LimitSettings settings) {
        if (learns instanceof StatedLimit known) {
            return settings.hasSignal() ? known : known.learnt();
        }
        return settings.hasSignal()
                ? new StatedLimit(
                        learns,
                        settings.bounds(),
                        settings.deadlineNanos(),
                        (learnt, now) -> capacity.limit(learnt, now),
                        this::putLearntInForce)
                : learns;
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

    /** Sets the source of the capacity that the backend states; it replaces the previous one. */
    public void stateBy(CapacitySource source) {
        capacity = source;
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
        LimitState.Ceiling given = new LimitState.Ceiling(source, shareSource);
        state.updateAndGet(before -> before.below(given));
        update();
    }

    /**
     * Changes the settings. An adaptive limit keeps what it has learnt. One thread at a time.
     */
    public void configure(LimitSettings settings) {
        LimitState before = state.get();
        if (!before.settings().equals(settings)) {
            Limit following = limitOf(settings, before.learning());
            state.updateAndGet(now -> now.withSettings(settings, following));
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
        state.updateAndGet(before -> before.withOperatorLimit(limit));
        update();
    }

    /** Shows a fixed limit as an operator's, or as the configuration's. Changes nothing else. */
    public void showOperators(boolean isOperators) {
        state.updateAndGet(before -> before.fixedByOperator(isOperators));
    }

    /** Puts changed numbers in force. */
    public void update() {
        while (true) {
            LimitState seen = state.get();
            double share = seen.ceiling().share().getAsDouble();
            if (share > 0 && seen.learning() != null) {
                seen.learning().scaleTo(share);
            }
            boolean _ = seen.limit().look(nanoClock.getAsLong());
            Numbers numbers = numbers(seen);
            bulkhead.resize(numbers.permits, numbers.queueCapacity, numbers.overflow);
            LimitState now = state.get();
            if (numbers(now).equals(numbers) && now.ceiling().share().getAsDouble() == share) {
                return;
            }
        }
    }

    private Numbers numbers(LimitState seen) {
        int capacity = seen.settings().queueCapacity();
        if (capacity == LimitSettings.AUTO) {
            capacity = seen.limit().queueCapacity();
        }
        int own = seen.permits();
        if (seen.settings().isAdaptive() && !seen.limit().isStated() && seen.isLowest(seen.limit())) {
            own = lost.addTo(own, seen.settings().bounds().max());
        }
        return new Numbers(
                Math.min(own, seen.ceiling().calls().getAsInt()),
                capacity,
                seen.settings().isAdaptive() ? Overflow.EVICT_OLDEST : Overflow.REFUSE_NEWCOMER);
    }

    // ---------------------------------------------------------------- samples

    /**
     * A call has received its permit.
     *
     * @return a mark, to be handed to {@link #ended}
     */
    public int started(long nowNanos) {
        LimitState seen = state.get();
        Limit limit = seen.limit();
        boolean counts = limit == seen.learning() && seen.isLowest(limit);
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
        LimitState seen = state.get();
        Limit limit = seen.learning();
        if (limit != null) {
            boolean counts = seen.limit() == limit && seen.isLowest(limit) && !isFutileProbe(seen);
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

    /** As {@link Limit#longWaitNanos} of the limit. */
    public long longWaitNanos() {
        return limit().longWaitNanos();
    }

    /** As {@link Limit#waited}. */
    public void waited(long nowNanos, long sinceNanos) {
        LimitState seen = state.get();
        if (seen.isLowest(seen.limit())) {
            seen.limit().waited(nowNanos, sinceNanos);
        }
    }

    /** As {@link Limit#queued}. */
    public void queued(long nowNanos) {
        LimitState seen = state.get();
        if (seen.isLowest(seen.limit())) {
            seen.limit().queued(nowNanos);
        }
    }

    /** Without enforcement, calls exceed the lower limit of a probe, so the probe measures nothing. */
    private boolean isFutileProbe(LimitState seen) {
        return !bulkhead.isEnforced() && seen.limit().beliefs().lastChange() == Change.PROBE;
    }

    /**
     * Whether an end is evidence for the limit only, and not a failure of the backend: it is a sign of
     * overload that a lower limit can relieve.
     *
     * @param latencyNanos the time of the call in the backend
     */
    public boolean absorbs(Evidence end, long latencyNanos) {
        LimitState seen = state.get();
        return seen.limit().absorbs(end, latencyNanos) && seen.isLowest(seen.limit());
    }

    // ---------------------------------------------------------------- facts

    /** The limit and an operator's, apart from the ceiling. */
    public int permits() {
        return state.get().permits();
    }

    /** The limit, fixed or adaptive; a change of the settings may replace it. */
    public Limit limit() {
        return state.get().limit();
    }

    /** The number that the bulkhead has in force. */
    public int inForce() {
        return bulkhead.maxConcurrentCalls();
    }

    /** Where the number in force comes from. */
    public Binding binding() {
        LimitState seen = state.get();
        if (seen.ceiling().calls().getAsInt() < seen.permits() && !seen.isLowest(seen.limit())) {
            return Binding.RAMP;
        }
        if (seen.settings().isAdaptive()) {
            Binding own = seen.limit().isStated() ? Binding.SIGNAL : Binding.AUTO;
            return seen.operatorLimit() < seen.limit().value() ? Binding.OPERATOR : own;
        }
        return seen.operatorLimit() != NONE || seen.isFixedByOperator() ? Binding.OPERATOR : Binding.FIXED;
    }

    /** The figures behind the limit. */
    public Beliefs beliefs() {
        return limit().beliefs();
    }

    /** Changes of the adaptive limit for this reason, since the backend was created; 0 if it has had none. */
    public long changes(Change reason) {
        Limit limit = state.get().learning();
        return limit == null ? 0 : limit.changes(reason);
    }

    /** The limit that the backend states, in force or not; 0: it states none. */
    public int stated() {
        return limit() instanceof StatedLimit seen ? seen.told() : 0;
    }

    /** The stated limits that were disproved, since the backend was created. */
    public long disproofs() {
        return state.get().learning() instanceof StatedLimit seen ? seen.disproofs() : 0;
    }

    /** The pace of the backend's answers. */
    public AnswerPace pace() {
        return pace;
    }

    /** Whether the limit adapts. */
    public boolean isAdaptive() {
        return state.get().settings().isAdaptive();
    }

    /** The smallest value of the limit; of a fixed limit, its number. */
    public int min() {
        LimitState seen = state.get();
        return seen.settings().isAdaptive()
                ? seen.settings().bounds().min()
                : seen.limit().value();
    }

    /** The largest value of the limit; of a fixed limit, its number. */
    public int max() {
        LimitState seen = state.get();
        return seen.settings().isAdaptive()
                ? seen.settings().bounds().max()
                : seen.limit().value();
    }

    /** An operator's limit; {@link #NONE}: none. */
    public int operatorLimit() {
        return state.get().operatorLimit();
    }
}
