package io.weir.health;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.github.resilience4j.core.metrics.Metrics.Outcome;
import io.github.resilience4j.core.metrics.Snapshot;
import io.weir.health.HealthState.Cause;
import io.weir.health.HealthState.Closed;
import io.weir.health.HealthState.Drained;
import io.weir.health.HealthState.Forced;
import io.weir.health.HealthState.HalfOpen;
import io.weir.health.HealthState.Open;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The health of a backend: the circuit breaker's state machine. The package's description has its rules.
 *
 * <pre>
 *            failing, stalled                 a good answer
 *   CLOSED ──────────────────► OPEN ───────────────────────────► HALF_OPEN ───► CLOSED
 *                               ▲                                    │    limit reached, or
 *                               └────────────────────────────────────┘    one second without a failure
 *                                 failing, stalled
 * </pre>
 *
 * <p>An operator forces the backend open or closed in any state, and releases it into {@code CLOSED}. An
 * operator drains an instance in any state, and returns it into {@code HALF_OPEN}.
 *
 * <p>The class is longer than others, and stays whole: one file shows every transition.
 *
 * <p>All methods may be called from any thread, and none blocks. A call that {@linkplain #enter entered}
 * reports its result at most once, by {@link #succeeded} or {@link #failed}. A call without a result is no
 * evidence.
 */
// Concurrency: `state` is the only atomic that decides. A transition is a CAS from the state that was read;
// the thread whose CAS succeeds carries out the effects (permits, log, listeners). The effects of two
// transitions may overlap, so none of them depends on the order: the compartment reads the present limit
// again after each change, and each generation is closed by the thread that has replaced it.
public final class Health {

    /** The compartment's permits, as far as the state of the backend changes them. */
    public interface Permits {

        /** The limit on concurrent calls, apart from {@link Health#maxCalls}. */
        int limit();

        /** {@link Health#maxCalls} has changed. */
        void limitChanged();

        /** Gives back the permits of calls that hang in the backend. */
        void giveBack(int calls);
    }

    /** Receives the transitions of an instance. */
    @FunctionalInterface
    public interface TransitionListener {

        /**
         * The instance has changed its state. Called on event loops; must not block.
         *
         * @param why the evidence
         * @param isWithPeers whether all instances of the backend open at once
         */
        void changed(State from, State to, String why, boolean isWithPeers);
    }

    private static final Logger log = LoggerFactory.getLogger(Health.class);

    private static final long SETTLED_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long RELAPSE_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final int MAX_RELAPSES = 5;
    private static final double NANOS_PER_SECOND = 1e9;

    /** The word for an instance that an operator has taken out. */
    public static final String DRAINED = "drained";

    /** The subject of log lines, such as {@code backend orders}. */
    private final String subject;

    private final Permits compartment;
    private final LongSupplier nanoClock;
    private final DoubleSupplier random;
    private final AtomicReference<HealthState> state;
    private final AtomicInteger overdue = new AtomicInteger();
    private final RegisteredBreaker face;
    private volatile HealthSettings settings;
    private volatile Runnable whenOpened = () -> {};
    /** Of an instance: the group in which it has peers; null: it has none. */
    private volatile @Nullable HealthGroup peers;
    /** Of an instance with peers: its share of the backend's limit. */
    private volatile double share = 1;
    /** Of a backend with several instances: their group; null: it has one. */
    private volatile @Nullable HealthGroup members;
    /** Of a backend with one instance: the largest number of concurrent calls. */
    private volatile int capOfOnly = Integer.MAX_VALUE;
    /** Only judged within a group. */
    private final RecentOutcomes recent = new RecentOutcomes();
    /** Of an instance: its openings without its peers. */
    private final AtomicLong ejections = new AtomicLong();

    private volatile TransitionListener whenChanged = (from, to, why, isWithPeers) -> {};
    /** For display; null: the instance has no health check. */
    private volatile HealthChecks.@Nullable Status check;

    /**
     * A health without any evidence: closed.
     *
     * @param name the backend's name
     * @param compartment the permits of its calls
     * @param nanoClock {@link System#nanoTime}, except in tests
     * @param random 0 (inclusive) to 1 (exclusive); jitters the probes
     */
    public Health(
            String name, HealthSettings settings, Permits compartment, LongSupplier nanoClock, DoubleSupplier random) {
        this(name, "backend " + name, settings, compartment, nanoClock, random);
    }

    /**
     * The health of an instance without any evidence: closed. A {@link HealthGroup} connects it with its
     * backend's.
     *
     * @param name the backend's name
     * @param address the instance's address
     * @param compartment the permits of the backend's calls
     */
    public static Health ofInstance(
            String name,
            String address,
            HealthSettings settings,
            Permits compartment,
            LongSupplier nanoClock,
            DoubleSupplier random) {
        return new Health(
                name, "instance " + address + " of backend " + name, settings, compartment, nanoClock, random);
    }

    private Health(
            String name,
            String subject,
            HealthSettings settings,
            Permits compartment,
            LongSupplier nanoClock,
            DoubleSupplier random) {
        this.subject = subject;
        this.settings = settings;
        this.compartment = compartment;
        this.nanoClock = nanoClock;
        this.random = random;
        this.state = new AtomicReference<>(fresh("the start"));
        this.face = new RegisteredBreaker(name, this);
    }

    // ---------------------------------------------------------------- calls

    /**
     * Whether a call would be permitted now. Used before a call asks for a permit, so that no call waits only
     * to be refused. {@link #refused} must follow if the call is refused.
     */
    public boolean permits(long now) {
        return settle(now).generation() != null;
    }

    /**
     * A call was refused because it is not permitted. Counts in Resilience4j's {@code not_permitted_calls}. A
     * call that becomes a probe, or passes because the breaker is not enforced, is not refused.
     */
    public void refused() {
        face.publishNotPermitted();
    }

    /**
     * Enters a call that is about to be sent.
     *
     * @param holdsPermit whether the call holds a permit of the compartment; then {@link Generation#leave}
     *     must follow exactly once
     * @return the call's generation; null: not permitted, and {@link #refused} must follow if it is refused
     */
    public @Nullable Generation enter(long now, boolean holdsPermit) {
        while (true) {
            Generation generation = settle(now).generation();
            if (generation == null) {
                return null;
            }
            if (!holdsPermit || generation.enter()) {
                return generation;
            }
        }
    }

    /**
     * Enters a call that holds a permit, unless the instance already has as many calls as an instance may
     * have at a time.
     *
     * @return as for {@link #enter}; null also if the instance is full
     */
    public @Nullable Generation enterBelowCap(long now) {
        while (true) {
            HealthGroup group = peers;
            Generation generation = settle(now).generation();
            if (generation == null) {
                return null;
            }
            if (group == null || group.maxCallsEach() == Integer.MAX_VALUE) {
                return enter(now, true);
            }
            if (generation.enterBelow(group.maxCallsEach())) {
                return generation;
            }
            if (!generation.isClosed()) {
                return null;
            }
        }
    }

    /** The backend has sent the final head of an answer to a call, with any status. */
    public void answered(@Nullable Generation generation, long now) {
        if (generation != null) {
            generation.answered(now);
            HealthGroup group = peers;
            if (group != null) {
                group.answered(now);
            }
        }
    }

    /**
     * A call was answered well.
     *
     * @param generation the call's generation; null: the breaker was open and is not enforced, so the call is
     *     no evidence
     * @param backendNanos the time that the call spent in the backend
     */
    public void succeeded(@Nullable Generation generation, long backendNanos, long now) {
        boolean slow = backendNanos >= settings.slowNanos();
        face.publishSuccess(backendNanos);
        switch (state.get()) {
            case Closed closed
            when closed.generation() == generation -> {
                Snapshot rates = closed.window().record(backendNanos, slow ? Outcome.SLOW_SUCCESS : Outcome.SUCCESS);
                openIfFailing(closed, rates, null, now);
                tellPeers(backendNanos, null, now);
            }
            case HalfOpen ramp
            when ramp.generation() == generation -> {
                ramp.window().record(backendNanos, Outcome.SUCCESS);
                ramp.succeeded();
                rampChanged(ramp, now);
                tellPeers(backendNanos, null, now);
            }
            // After failures, an answer to an earlier call is no new evidence. After a stall, any answer
            // shows that the backend answers again.
            case Open open
            when open.isStalled() && generation != null ->
                recovered(open, "a call that was under way was answered", now);
            case Forced forced
            when forced.generation() == generation ->
                forced.window().record(backendNanos, slow ? Outcome.SLOW_SUCCESS : Outcome.SUCCESS);
            default -> {
                // The call is of an earlier generation.
            }
        }
    }

    /**
     * The backend failed a call.
     *
     * @param generation as for {@link #succeeded}
     * @param backendNanos the time that the call spent in the backend
     */
    public void failed(@Nullable Generation generation, long backendNanos, BackendFailure failure, long now) {
        boolean slow = backendNanos >= settings.slowNanos();
        face.publishError(backendNanos, failure);
        switch (state.get()) {
            case Closed closed
            when closed.generation() == generation -> {
                Snapshot rates = closed.window().record(backendNanos, slow ? Outcome.SLOW_ERROR : Outcome.ERROR);
                openIfFailing(closed, rates, failure, now);
                tellPeers(backendNanos, failure, now);
            }
            case HalfOpen ramp
            when ramp.generation() == generation -> {
                ramp.window().record(backendNanos, Outcome.ERROR);
                ramp.failed(now);
                tellPeers(backendNanos, failure, now);
                if (ramp.isFailing(settings.breaker().failureRateThreshold())) {
                    open(ramp, false, "failing, " + ramp.counts() + ": " + failure.getMessage(), now);
                }
            }
            case Forced forced
            when forced.generation() == generation ->
                forced.window().record(backendNanos, slow ? Outcome.SLOW_ERROR : Outcome.ERROR);
            default -> {
                // While open, a failure is no new evidence. In other states, the call is of an earlier
                // generation.
            }
        }
    }

    private void tellPeers(long backendNanos, @Nullable BackendFailure failure, long now) {
        HealthGroup group = peers;
        if (group == null) {
            return;
        }
        if (failure == null) {
            group.succeeded(this, backendNanos, now);
        } else {
            group.failed(this, backendNanos, failure, now);
        }
    }

    /**
     * A call ended with a sign of overload, which is no failure of the backend. An instance whose peers show
     * no such sign has failed.
     *
     * @param generation as for {@link #succeeded}
     */
    public void overloaded(@Nullable Generation generation, BackendFailure failure, long now) {
        HealthGroup group = peers;
        if (group != null && generation != null && generation == generation()) {
            group.overloaded(this, failure, now);
        }
    }

    /**
     * Whether a sign of overload is one of the whole backend. Of an instance with peers, only if half of its
     * peers fail, too.
     */
    public boolean isOverloadShared(long now) {
        HealthGroup group = peers;
        return group == null || group.isOverloadShared(this, now);
    }

    /** Of a backend with several instances: the result of a call to one of them. */
    void pool(long backendNanos, @Nullable BackendFailure failure, long now) {
        boolean slow = backendNanos >= settings.slowNanos();
        if (failure == null) {
            face.publishSuccess(backendNanos);
        } else {
            face.publishError(backendNanos, failure);
        }
        Outcome outcome;
        if (failure == null) {
            outcome = slow ? Outcome.SLOW_SUCCESS : Outcome.SUCCESS;
        } else {
            outcome = slow ? Outcome.SLOW_ERROR : Outcome.ERROR;
        }
        switch (state.get()) {
            case Closed closed -> openIfFailing(closed, closed.window().record(backendNanos, outcome), failure, now);
            case Forced forced -> forced.window().record(backendNanos, outcome);
            case HalfOpen ramp -> ramp.window().record(backendNanos, outcome);
            case Open open -> {
                // The call was sent before the instances opened.
            }
            case Drained drained -> {
                // Only an instance is drained, and no results are pooled in its health.
            }
        }
    }

    /**
     * A call has waited for its answer for the stall time, or its caller has given it up after a wait that is
     * long for its route.
     *
     * @param sentAt the moment at which the call was sent
     * @param silentSince a silence of the backend since then is too long for this call; {@code sentAt} or
     *     later
     * @param judgedSince {@code silentSince} of the previous call of this method for the same call; before
     *     {@code sentAt}: there was none
     */
    public void stalled(@Nullable Generation generation, long sentAt, long silentSince, long judgedSince, long now) {
        HealthState seen = state.get();
        if (generation == null || seen.generation() != generation || seen instanceof Forced) {
            return;
        }
        HealthGroup group = peers;
        if (group != null) {
            group.stalled(sentAt, silentSince, judgedSince, now);
        }
        generation.countStalled(sentAt, silentSince, judgedSince);
        int limit = Math.min(compartment.limit(), group == null ? capOfOnly : group.maxCallsEach());
        if (seen instanceof HalfOpen ramp) {
            limit = Math.min(ramp.ramp(), limit);
        }
        int calls = generation.stalled(isFull(generation, limit));
        int configured = settings.breaker().stallCalls();
        int stallCalls = group == null ? configured : group.stallCalls(configured, sentAt);
        if (calls > 0 && calls >= Math.min(stallCalls, limit)) {
            open(
                    seen,
                    true,
                    "stalled, no answer for %s, %d calls unanswered"
                            .formatted(seconds(generation.stalledNanos(now)), Math.max(calls, generation.inFlight())),
                    now);
        }
    }

    /** Whether the calls that wait for an answer hold all permits, so that no other call can be sent. */
    private boolean isFull(Generation generation, int limit) {
        HealthGroup shared = peers;
        HealthGroup all = shared == null ? members : shared;
        return generation.inFlight() >= limit || (all != null && all.isFull(compartment.limit()));
    }

    // ---------------------------------------------------------------- probes

    /**
     * Starts a probe if the breaker is open and a probe is due. {@link #probeAnswered} or
     * {@link #probeFailed} must follow.
     *
     * @param usualNanos the usual time of such a request; 0: unknown
     * @param isCallers whether a caller waits for the answer; such a probe is never patient
     */
    public @Nullable Probe tryStartProbe(long now, long usualNanos, boolean isCallers) {
        return state.get() instanceof Open open
                ? open.probes().tryStart(now, settings.probeNanos(usualNanos), !isCallers)
                : null;
    }

    /**
     * Starts a caller's request as a probe if the breaker is open and no probe has started for two intervals.
     * One at a time.
     *
     * @param usualNanos as for {@link #tryStartProbe}
     */
    public @Nullable Probe tryStartLastResort(long now, long usualNanos) {
        return state.get() instanceof Open open
                ? open.probes().tryStartLastResort(now, settings.probeNanos(usualNanos))
                : null;
    }

    /**
     * Starts a caller's request as a probe of an instance while other instances could serve it. The intervals
     * double up to half a minute: each such probe may cost its caller the answer.
     *
     * @param usualNanos as for {@link #tryStartProbe}
     */
    public @Nullable Probe tryStartRareProbe(long now, long usualNanos) {
        return state.get() instanceof Open open
                ? open.probes().tryStartRare(now, open.since(), settings.probeNanos(usualNanos))
                : null;
    }

    /** Whether {@link #tryStartLastResort} would start a probe. */
    public boolean isLastResortDue(long now, long usualNanos) {
        HealthGroup group = members;
        if (group != null) {
            return group.isLastResortDue(now, usualNanos);
        }
        return state.get() instanceof Open open && open.probes().isLastResortDue(now, settings.probeNanos(usualNanos));
    }

    /** A probe was answered well. It may have been started in an earlier opening. */
    public void probeAnswered(Probe probe, long now) {
        if (probe.end() && state.get() instanceof Open open) {
            recovered(open, "a probe was answered", now);
        }
    }

    /** A probe failed, or was given up. That changes no state: the breaker is open already. */
    public void probeFailed(Probe probe) {
        probe.end();
    }

    /** Time until the next probe; zero if the breaker is not open, or if a probe is due. */
    public long nanosToNextProbe() {
        HealthGroup group = members;
        if (group != null) {
            return group.nanosToNextProbe();
        }
        return state.get() instanceof Open open
                ? open.probes().nanosToNextProbe(nanoClock.getAsLong(), settings.probeNanos(0))
                : 0;
    }

    /** Probes under way. */
    public int probesUnderWay() {
        HealthGroup group = members;
        if (group != null) {
            return group.probesUnderWay();
        }
        return state.get() instanceof Open open ? open.probes().underWay() : 0;
    }

    /** Sets the action to run after each opening; it replaces the previous action. */
    public void whenOpened(Runnable action) {
        whenOpened = action;
    }

    /**
     * Sets the receiver of an instance's transitions, as long as it has peers; it replaces the previous one.
     */
    public void whenChanged(TransitionListener listener) {
        whenChanged = listener;
    }

    // ---------------------------------------------------------------- the health check

    /**
     * The health check fails: the instance gets neither calls nor probes until {@link #checkPassed} or
     * {@link #checkIgnored}. Calls under way go on. A state that an operator forces stays.
     *
     * @param isSilent whether the instance answered neither the check nor any call: its calls under way hang
     */
    void checkFailed(String cause, boolean isSilent, long now) {
        HealthState seen = state.get();
        while (!isOperators(seen)
                && !(seen instanceof Open held && held.isHeldByCheck())
                && !transition(seen, heldByCheck(seen, cause, isSilent, now))) {
            seen = state.get();
        }
    }

    private Open heldByCheck(HealthState from, String cause, boolean isSilent, long now) {
        ProbeSchedule none = ProbeSchedule.never(settings, random, now);
        return from instanceof Open open
                ? open.withCause(Cause.CALLS_AND_CHECK, none)
                : new Open(none, rates(from), isSilent, 0, now, cause, Cause.CHECK);
    }

    /** The health check passes: the instance returns, unless its calls have ejected it. */
    void checkPassed(long now) {
        if (state.get() instanceof Open open && open.cause() == Cause.CHECK) {
            halfOpen(open, "its health check passes", now);
        } else {
            checkIgnored(now);
        }
    }

    /** The health check has no effect: an instance that it has taken out returns when a probe is answered. */
    void checkIgnored(long now) {
        while (state.get() instanceof Open open && open.isHeldByCheck()) {
            if (transition(open, open.withCause(Cause.CALLS, new ProbeSchedule(settings, random, now)))) {
                whenOpened.run();
            }
        }
    }

    void checked(HealthChecks.@Nullable Status status) {
        check = status;
    }

    /** The state of the instance's health check; null: it has none. */
    public HealthChecks.@Nullable Status check() {
        return check;
    }

    /** Whether a health check keeps the instance out, so that no probe starts. */
    public boolean isHeldByCheck() {
        return state.get() instanceof Open open && open.isHeldByCheck();
    }

    /**
     * Whether the instance is open, and the calls that were under way at the opening may hang. If only a
     * failed health check or an operator keeps it out, it still answers them.
     */
    public boolean hasHangingCalls() {
        return state.get() instanceof Open open && open.hasHangingCalls();
    }

    boolean hasAnsweredSince(long time) {
        Generation generation = generation();
        return generation != null && generation.hasAnsweredSince(time);
    }

    // ---------------------------------------------------------------- the operator, and the configuration

    /** Forces the breaker open: it refuses every call until {@linkplain #release() released}. */
    public void forceOpen() {
        force(null);
        HealthGroup group = members;
        if (group != null) {
            group.forceAll(true);
        }
    }

    /**
     * Forces the breaker closed: it permits every call and cannot open until {@linkplain #release()
     * released}.
     */
    public void forceClosed() {
        force(new Generation(nanoClock.getAsLong()));
        HealthGroup group = members;
        if (group != null) {
            group.forceAll(false);
        }
    }

    private void force(@Nullable Generation generation) {
        long now = nanoClock.getAsLong();
        replace(new Forced(generation, window(), now, "forced by an operator"));
    }

    /** Ends a forced state. The breaker is then closed, with an empty window. */
    public void release() {
        HealthGroup group = members;
        if (group != null) {
            group.releaseAll();
        }
        replace(fresh("released by an operator"));
        if (group != null) {
            // The instances may have opened before the backend was released.
            group.changed(null);
        }
    }

    /**
     * Takes an instance out: it gets neither calls nor probes until it {@linkplain #restore() returns}. Its
     * calls under way end as they would have, and are no evidence. A state that an operator forces on the
     * backend does not return it.
     */
    public void drain() {
        HealthState seen = state.get();
        while (!(seen instanceof Drained)
                && !transition(
                        seen,
                        new Drained(seen.generation(), rates(seen), nanoClock.getAsLong(), "drained by an operator"))) {
            seen = state.get();
        }
    }

    /**
     * Returns a drained instance: with the ramp of a recovering one, since it may have restarted meanwhile,
     * or in the state that an operator forces on the backend. No effect on any other instance.
     */
    public void restore() {
        HealthGroup group = peers;
        Forced forced = group == null ? null : group.forced();
        long now = nanoClock.getAsLong();
        if (state.get() instanceof Drained drained) {
            transition(
                    drained,
                    forced == null
                            ? ramp(0, now, "returned by an operator")
                            : new Forced(
                                    forced.generation() == null ? null : new Generation(now),
                                    window(),
                                    now,
                                    forced.why()));
        }
    }

    /** Whether an operator has taken the instance out. */
    public boolean isDrained() {
        return state.get() instanceof Drained;
    }

    /** Opens the breaker as if the backend had failed. For Resilience4j's interface. */
    void openNow() {
        HealthState seen = state.get();
        while (!(seen instanceof Open)) {
            open(seen, false, "opened through Resilience4j", nanoClock.getAsLong());
            seen = state.get();
        }
    }

    /** Half-opens an open breaker. For Resilience4j's interface. */
    void halfOpenNow() {
        HealthGroup group = members;
        if (group != null) {
            group.halfOpenAll();
        } else if (state.get() instanceof Open open) {
            halfOpen(open, "half-opened through Resilience4j", nanoClock.getAsLong());
        }
    }

    /**
     * Replaces the settings. If properties of the breaker itself have changed, the breaker starts closed with
     * an empty window, except in a forced state. Otherwise it keeps its state.
     */
    public void configure(HealthSettings next) {
        HealthSettings before = settings;
        settings = next;
        if (sameDecisions(next.breaker(), before.breaker())) {
            return;
        }
        HealthState seen = state.get();
        // A state that an operator forces at the same moment stays.
        while (!isOperators(seen) && !transition(seen, fresh("other settings"))) {
            seen = state.get();
        }
    }

    private static boolean isOperators(HealthState seen) {
        return seen instanceof Forced || seen instanceof Drained;
    }

    /**
     * Ignores the settings that only the engine reads: the statuses that are failures, and {@code enforce}.
     */
    private static boolean sameDecisions(CircuitBreakerProperties one, CircuitBreakerProperties other) {
        return one.withoutEngineSettings().equals(other.withoutEngineSettings());
    }

    // ---------------------------------------------------------------- transitions

    /** Closes the breaker if its ramp has settled, and returns the present state. */
    private HealthState settle(long now) {
        HealthState seen = state.get();
        if (seen instanceof HalfOpen ramp && ramp.isSettled(now, SETTLED_NANOS)) {
            close(ramp, now);
            return state.get();
        }
        return seen;
    }

    private void rampChanged(HalfOpen ramp, long now) {
        if (ramp.ramp() >= share * compartment.limit() || ramp.isSettled(now, SETTLED_NANOS)) {
            close(ramp, now);
        } else {
            compartment.limitChanged();
        }
    }

    private void openIfFailing(Closed closed, Snapshot rates, @Nullable BackendFailure last, long now) {
        int calls = rates.getTotalNumberOfCalls();
        if (calls < settings.minimumNumberOfCalls()) {
            return;
        }
        if (rates.getNumberOfFailedCalls() > 0
                && rates.getFailureRate() >= settings.breaker().failureRateThreshold()
                && isForItToOpen(false, settings.breaker().failureRateThreshold(), now)) {
            open(
                    closed,
                    false,
                    "failing, %d of %d calls failed%s"
                            .formatted(
                                    rates.getNumberOfFailedCalls(),
                                    calls,
                                    last == null ? "" : ": " + last.getMessage()),
                    now);
        } else if (rates.getTotalNumberOfSlowCalls() > 0
                && rates.getSlowCallRate() >= settings.breaker().slowCallRateThreshold()
                && isForItToOpen(true, settings.breaker().slowCallRateThreshold(), now)) {
            open(
                    closed,
                    false,
                    "slow, %d of %d calls took %s or longer"
                            .formatted(rates.getTotalNumberOfSlowCalls(), calls, seconds(settings.slowNanos())),
                    now);
        }
    }

    private boolean isForItToOpen(boolean isSlow, float thresholdPercent, long now) {
        HealthGroup own = members;
        HealthGroup shared = peers;
        return (own == null || own.failAlike(isSlow, thresholdPercent, now))
                && (shared == null || !shared.isLikeItsPeers(this, isSlow, thresholdPercent, now));
    }

    private void open(HealthState from, boolean isStalled, String why, long now) {
        HealthGroup group = members;
        if (group != null) {
            // First: otherwise an instance whose state changes now would close the backend again.
            group.openingBegins();
        }
        if (transition(from, opened(from, isStalled, why, now))) {
            whenOpened.run();
            if (group != null) {
                group.openAll(isStalled, why, now);
            }
        }
        if (group != null) {
            group.openingEnds();
        }
    }

    private Open opened(HealthState from, boolean isStalled, String why, long now) {
        ProbeSchedule probes = new ProbeSchedule(settings, random, now);
        return new Open(probes, rates(from), isStalled, relapses(from, now), now, why);
    }

    /** The instance fails, and its peers do not. */
    void eject(String why, long now) {
        if (state.get() instanceof Closed closed) {
            open(closed, false, why, now);
        }
    }

    /** All instances of the backend open. */
    void openWithPeers(boolean isStalled, String why, long now) {
        HealthState seen = state.get();
        while (seen.generation() != null && !(seen instanceof Forced)) {
            open(seen, isStalled, why, now);
            seen = state.get();
        }
    }

    /** The present state, with the data that belong to it. */
    HealthState present() {
        return state.get();
    }

    /**
     * Derives the state of a backend with several instances.
     *
     * @param group the group that derives it; without effect if another one leads the backend
     * @param seen the backend's state, read before its instances
     * @param in the instances that are in
     * @param opened the instance that has just opened; null: none has
     * @return false: the state has changed meanwhile, and must be derived again
     */
    // Concurrency: `lead` and `becomeSingle` replace first the group and then the state. So a thread of the
    // previous group either finds another group here, or its CAS fails.
    boolean follow(HealthGroup group, HealthState seen, int in, @Nullable Health opened) {
        if (members != group) {
            return true;
        }
        long now = nanoClock.getAsLong();
        boolean isDone = true;
        if (in == 0 && (seen instanceof Closed || seen instanceof HalfOpen)) {
            boolean isStalled = opened != null && opened.state.get() instanceof Open open && open.isStalled();
            String why =
                    opened == null ? "all instances are open" : "all instances are open; the last: " + opened.why();
            // Not the other instances: one of them may have returned meanwhile.
            isDone = transition(seen, opened(seen, isStalled, why, now));
            if (isDone) {
                whenOpened.run();
            }
        } else if (in > 0 && seen instanceof Open open) {
            isDone = transition(
                    open,
                    new Closed(new Generation(now), window(), open.relapses(), now, now, "an instance answers again"));
        } else if (opened != null && seen instanceof Closed closed) {
            // The results of the instance that has opened say nothing about the others.
            isDone = transition(
                    closed,
                    new Closed(
                            closed.generation(),
                            window(),
                            closed.relapses(),
                            closed.recoveredAt(),
                            closed.since(),
                            closed.why()));
        }
        compartment.limitChanged();
        return isDone;
    }

    /**
     * Derives the state of a backend with several instances again. At the moment of an opening, the limit may
     * still count the opened instance.
     */
    public void refresh() {
        HealthGroup group = members;
        if (group != null) {
            group.changed(null);
        }
    }

    /** Becomes a member of a group, in place of its present one. */
    void join(HealthGroup group, double shareOfLimit) {
        share = shareOfLimit;
        peers = group;
    }

    /** Becomes the health of a backend with these instances. */
    @Nullable
    HealthGroup lead(HealthGroup group) {
        HealthGroup previous = members;
        members = group;
        renewState();
        return previous;
    }

    /** Lets every CAS fail that another thread has begun. */
    private void renewState() {
        HealthState seen = state.get();
        while (!state.compareAndSet(seen, copy(seen))) {
            seen = state.get();
        }
    }

    private static HealthState copy(HealthState state) {
        return switch (state) {
            case Closed closed ->
                new Closed(
                        closed.generation(),
                        closed.window(),
                        closed.relapses(),
                        closed.recoveredAt(),
                        closed.since(),
                        closed.why());
            case Open open -> open.withCause(open.cause(), open.probes());
            // A group gives its backend no ramp, and does not change a state of an operator.
            case HalfOpen ramp -> ramp;
            case Forced forced -> forced;
            case Drained drained -> drained;
        };
    }

    /** Leaves the group, with which the instance has left the backend. */
    void leavePeers() {
        peers = null;
    }

    /**
     * Becomes the health of a backend with one instance.
     *
     * @param maxCalls the largest number of concurrent calls in the instance; {@link Integer#MAX_VALUE}: none
     */
    public void becomeSingle(int maxCalls) {
        HealthGroup previous = members;
        boolean isOther = capOfOnly != maxCalls;
        capOfOnly = maxCalls;
        members = null;
        if (previous != null) {
            renewState();
            previous.leave(List.of());
        }
        if (previous != null || isOther) {
            compartment.limitChanged();
        }
    }

    /**
     * Takes over the state of another health of the same instance, if this one is closed: the instance has
     * become one of several, or the only one.
     */
    public void takeStateOf(Health other) {
        HealthState seen = state.get();
        if (!(seen instanceof Closed)) {
            return;
        }
        long now = nanoClock.getAsLong();
        switch (other.state.get()) {
            case Open open -> open(seen, open.isStalled(), open.why(), now);
            case HalfOpen ramp -> {
                open(seen, false, ramp.why(), now);
                if (state.get() instanceof Open open) {
                    halfOpen(open, ramp.why(), now);
                }
            }
            case Forced forced ->
                transition(
                        seen,
                        new Forced(
                                forced.generation() == null ? null : new Generation(now), window(), now, forced.why()));
            case Closed _, Drained _ -> {
                // Nothing to take over: the drain is of the instance, not of the backend.
            }
        }
    }

    /** The number of successive openings within ten seconds of a recovery, including this one. */
    private static int relapses(HealthState from, long now) {
        return switch (from) {
            case HalfOpen ramp when now - ramp.since() <= RELAPSE_NANOS -> Math.min(MAX_RELAPSES, ramp.relapses() + 1);
            case Closed closed
            when closed.recoveredAt() != 0 && now - closed.recoveredAt() <= RELAPSE_NANOS ->
                Math.min(MAX_RELAPSES, closed.relapses() + 1);
            default -> 0;
        };
    }

    /** The calls keep an open instance out no longer; its health check may. */
    private void recovered(Open from, String why, long now) {
        switch (from.cause()) {
            case CALLS -> halfOpen(from, why, now);
            case CALLS_AND_CHECK -> transition(from, from.withCause(Cause.CHECK, from.probes()));
            case CHECK -> {
                // A late answer; the check decides.
            }
        }
    }

    private void halfOpen(Open from, String why, long now) {
        transition(from, ramp(from.relapses(), now, why));
    }

    private HalfOpen ramp(int relapses, long now, String why) {
        int start = settings.breaker().permittedNumberOfCallsInHalfOpenState();
        return new HalfOpen(new Generation(now), window(), start, relapses, now, why);
    }

    private void close(HalfOpen from, long now) {
        // The generation goes on: the ramp's calls belong to the closed state, too.
        transition(
                from,
                new Closed(
                        from.generation(), window(), from.relapses(), from.since(), now, "the backend has recovered"));
    }

    private Closed fresh(String why) {
        long now = nanoClock.getAsLong();
        return new Closed(new Generation(now), window(), 0, 0, now, why);
    }

    private CallWindow window() {
        return new CallWindow(settings, nanoClock);
    }

    private void replace(HealthState to) {
        while (!transition(state.get(), to)) {
            // Another thread has changed the state: replace that state, too.
        }
    }

    private boolean transition(HealthState from, HealthState to) {
        if (!state.compareAndSet(from, to)) {
            return false;
        }
        Generation ended = from.generation();
        // Without enforcement no permits are freed, since calls are still admitted. A forced opening frees
        // none either, since no call is known to hang. The same holds for a failed health check.
        if (ended != null
                && to instanceof Open opened
                && opened.hasHangingCalls()
                && settings.breaker().enforce()) {
            compartment.giveBack(ended.close());
        }
        compartment.limitChanged();
        HealthGroup group = peers;
        boolean isWithPeers = group != null && group.isOpeningAll();
        if (to instanceof Open && !isWithPeers) {
            ejections.incrementAndGet();
        }
        report(from.word(), to);
        if (group != null && from.word() != to.word()) {
            whenChanged.changed(from.word(), to.word(), to.why(), isWithPeers);
        }
        if (group != null && (from.word() != to.word() || isOperators(from))) {
            if (to.generation() == null || from.generation() == null) {
                recent.clear();
            }
            group.changed(to instanceof Open ? this : null);
        }
        return true;
    }

    private void report(State from, HealthState to) {
        if (from == to.word()) {
            return;
        }
        switch (to) {
            case Open open -> log.warn("Breaker of {} opened: {}", subject, open.why());
            case HalfOpen ramp -> log.info("Breaker of {} half-opened: {}", subject, ramp.why());
            case Closed closed -> log.info("Breaker of {} closed: {}", subject, closed.why());
            case Forced forced -> log.warn("Breaker of {} is {}", subject, stateWord(forced.word()));
            case Drained drained -> log.warn("Breaker of {} is {}", subject, DRAINED);
        }
        face.publishTransition(from, to.word());
    }

    // ---------------------------------------------------------------- facts

    /** The present state, in Resilience4j's terms; {@link State#DISABLED}: forced closed. */
    public State state() {
        return settle(nanoClock.getAsLong()).word();
    }

    /** The word for a state, as metrics and endpoints show it. */
    public static String stateWord(State state) {
        return switch (state) {
            case CLOSED -> "closed";
            case OPEN -> "open";
            case HALF_OPEN -> "half-open";
            case FORCED_OPEN -> "forced-open";
            case DISABLED, METRICS_ONLY -> "forced-closed";
        };
    }

    /** The word for the present state, as metrics and endpoints show it. */
    public String word() {
        return isDrained() ? DRAINED : stateWord(state());
    }

    /** Whether an operator holds the state. */
    public boolean isForced() {
        return isOperators(state.get());
    }

    /** Openings without all other instances of the backend, since the start. */
    public long ejections() {
        return ejections.get();
    }

    /** The evidence that led to the present state. */
    public String why() {
        return state.get().why();
    }

    /** Time since the last transition. */
    public long nanosInState() {
        return Math.max(0, nanoClock.getAsLong() - state.get().since());
    }

    /** The limit on calls that the state sets; {@link Integer#MAX_VALUE}: none. */
    public int maxCalls() {
        HealthSettings inForce = settings;
        HealthGroup group = members;
        if (group != null) {
            return inForce.breaker().enforce() ? group.maxCalls(compartment.limit()) : group.room();
        }
        int cap = capOfOnly;
        return state.get() instanceof HalfOpen ramp && inForce.breaker().enforce() ? Math.min(ramp.ramp(), cap) : cap;
    }

    /**
     * The share of the backend's limit that {@link #maxCalls} is while instances are out; 1: it is no share,
     * or there is no limit; 0: it changes with each call.
     */
    public double limitShare() {
        HealthGroup group = members;
        return group == null || !settings.breaker().enforce() ? 1 : group.limitShare();
    }

    /** The settings in force. */
    public HealthSettings settings() {
        return settings;
    }

    /** The failure rate of the last calls in percent; -1: too few calls. */
    public float failureRate() {
        Snapshot rates = rates();
        return rates.getTotalNumberOfCalls() < settings.minimumNumberOfCalls() ? -1 : rates.getFailureRate();
    }

    /** The results of the last calls. While open, of the calls before the opening. */
    Snapshot rates() {
        return rates(state.get());
    }

    private static Snapshot rates(HealthState state) {
        return switch (state) {
            case Closed closed -> closed.window().snapshot();
            case HalfOpen ramp -> ramp.window().snapshot();
            case Open open -> open.lastRates();
            case Forced forced -> forced.window().snapshot();
            case Drained drained -> drained.lastRates();
        };
    }

    /** The generation of the calls that are permitted now; null: none. */
    @Nullable
    Generation generation() {
        return state.get().generation();
    }

    /** The present moment, on the clock of the evidence. */
    public long now() {
        return nanoClock.getAsLong();
    }

    /** A call under way has waited for the stall time; {@link #overdueEnded} must follow once. */
    public void overdueBegan() {
        overdue.incrementAndGet();
    }

    /** A call that was overdue has ended. */
    public void overdueEnded() {
        overdue.decrementAndGet();
    }

    /** Calls under way that have waited for the stall time. */
    public int overdue() {
        HealthGroup group = members;
        return overdue.get() + (group == null ? 0 : group.overdue());
    }

    /** Calls with a permit that entered in the present state; of a drained instance, those under way. */
    public int inFlight() {
        HealthState seen = state.get();
        Generation generation = seen instanceof Drained drained ? drained.leaving() : seen.generation();
        return generation == null ? 0 : generation.inFlight();
    }

    /** Whether calls are permitted. Unlike {@link #permits}, it changes nothing. */
    public boolean isIn() {
        return generation() != null;
    }

    /** Whether the ramp of a recovering instance has no room for another call. */
    public boolean isRampFull() {
        return state.get() instanceof HalfOpen ramp && ramp.generation().inFlight() >= ramp.ramp();
    }

    /**
     * The failures in a row of an instance that cools down: its peers have answered too few calls since. 0:
     * it does not cool down. In a state that an operator forces, failures have no effect.
     */
    public int coolDownFailures(long now) {
        HealthGroup group = peers;
        return group == null || state.get() instanceof Forced ? 0 : group.coolDownFailures(this, now);
    }

    /** Whether an instance has as many calls as an instance may have at a time. */
    public boolean isAtCap() {
        HealthGroup group = peers;
        return group != null && inFlight() >= group.maxCallsEach();
    }

    /** Whether an instance has as many calls as its share of the backend's limit. */
    public boolean isAtShare() {
        return inFlight() >= share * compartment.limit();
    }

    boolean isOpen() {
        return state.get() instanceof Open;
    }

    @Nullable
    Forced forced() {
        return state.get() instanceof Forced forced ? forced : null;
    }

    boolean isRamping() {
        return state.get() instanceof HalfOpen;
    }

    RecentOutcomes recent() {
        return recent;
    }

    /** The entry in Resilience4j's registry. */
    public RegisteredBreaker resilience4j() {
        return face;
    }

    private static String seconds(long nanos) {
        return String.format(Locale.ROOT, "%.1f s", nanos / NANOS_PER_SECOND);
    }
}
