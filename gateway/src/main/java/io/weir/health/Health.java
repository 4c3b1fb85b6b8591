package io.weir.health;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.github.resilience4j.core.metrics.Snapshot;
import io.weir.health.HealthState.Drained;
import io.weir.health.HealthState.Open;
import java.util.function.DoubleSupplier;
import java.util.function.LongPredicate;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

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
 * <p>This class is the entry for calls. Each part has one role: {@link StateMachine} the transitions, {@link
 * OutcomeJudge} and {@link StallDetector} the evidence of calls, {@link OpenProbes} the probes, {@link
 * CallCaps} the limits, {@link OperatorHold} the operator's states, {@link CheckVerdict} the health check,
 * {@link GroupMembership} and {@link GroupRole} the other instances.
 *
 * <p>All methods may be called from any thread, and none blocks. A call that {@linkplain #enter entered}
 * reports its result at most once, by {@link #succeeded} or {@link #failed}. A call without a result is no
 * evidence.
 */
public final class Health {

    /** The compartment's permits, as far as the state of the backend changes them. */
    public interface Permits {

        /** The limit on concurrent calls, apart from {@link CallCaps#maxCalls}. */
        int limit();

        /** {@link CallCaps#maxCalls} has changed. */
        void limitChanged();

        /** Gives back the permits of calls that hang in the backend. */
        void giveBack(int calls);
    }

    /** The word for an instance that an operator has taken out. */
    public static final String DRAINED = "drained";

    private final GroupMembership membership = new GroupMembership();
    private final StateMachine machine;
    private final OutcomeJudge outcomes;
    private final StallDetector stalls;
    private final OpenProbes probes;
    private final CallCaps caps;
    private final OperatorHold operator;
    private final GroupRole role;
    private final CheckVerdict verdict;
    private final RegisteredBreaker face;
    /** Only judged within a group. */
    private final RecentOutcomes recent = new RecentOutcomes();

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
        this(name, "backend " + name, settings, compartment, null, nanoClock, random);
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
                name, "instance " + address + " of backend " + name, settings, compartment, null, nanoClock, random);
    }

    Health(
            String name,
            String subject,
            HealthSettings settings,
            Permits compartment,
            @Nullable LongPredicate routeVeto,
            LongSupplier nanoClock,
            DoubleSupplier random) {
        this.machine = new StateMachine(this, subject, settings, compartment, membership, routeVeto, nanoClock, random);
        this.outcomes = new OutcomeJudge(this, machine);
        this.stalls = new StallDetector(machine);
        this.probes = new OpenProbes(machine);
        this.caps = new CallCaps(machine);
        this.operator = new OperatorHold(machine);
        this.role = new GroupRole(this, machine, operator);
        this.verdict = new CheckVerdict(machine);
        this.face = new RegisteredBreaker(name, this);
    }

    // ---------------------------------------------------------------- calls

    /**
     * Whether a call would be permitted now. Used before a call asks for a permit, so that no call waits only
     * to be refused. {@link #refused} must follow if the call is refused.
     */
    public boolean permits(long now) {
        return machine.settle(now).generation() != null;
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
            Generation generation = machine.settle(now).generation();
            if (generation == null) {
                return null;
            }
            if (!holdsPermit || generation.enter()) {
                return generation;
            }
        }
    }

    /** The backend has sent the final head of an answer to a call. */
    public void answered(@Nullable Generation generation, long now) {
        if (generation != null) {
            generation.answered(now);
            HealthGroup group = membership.peers();
            if (group != null) {
                group.answered(now);
            }
        }
    }

    /**
     * A call was answered well.
     *
     * @param generation the call's generation; null: the breaker was open, and the call is no evidence
     * @param backendNanos the time that the call spent in the backend
     */
    public void succeeded(@Nullable Generation generation, long backendNanos, long now) {
        outcomes.succeeded(generation, backendNanos, now);
    }

    /**
     * The backend failed a call.
     *
     * @param generation as for {@link #succeeded}
     * @param backendNanos the time that the call spent in the backend
     */
    public void failed(@Nullable Generation generation, long backendNanos, BackendFailure failure, long now) {
        outcomes.failed(generation, backendNanos, failure, now);
    }

    /** Of a backend with several instances: the result of a call to one of them. */
    void pool(long backendNanos, @Nullable BackendFailure failure, long now) {
        outcomes.pool(backendNanos, failure, now);
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
        stalls.stalled(generation, sentAt, silentSince, judgedSince, now);
    }

    // ---------------------------------------------------------------- the parts

    /** The probes while the breaker is open. */
    public OpenProbes probes() {
        return probes;
    }

    /** The time for which the instance has asked to be left alone. */
    public Pushback pushback() {
        return machine.pushback();
    }

    /** The limits on concurrent calls that the state sets. */
    public CallCaps caps() {
        return caps;
    }

    /** The states that an operator sets. */
    public OperatorHold operator() {
        return operator;
    }

    /** The relation to the other healths of the same backend. */
    public GroupRole role() {
        return role;
    }

    /** The effect of the instance's health check. */
    CheckVerdict verdict() {
        return verdict;
    }

    /** The present state, with the data that belong to it. */
    HealthState present() {
        return machine.present();
    }

    /** Sets the action to run after each opening; it replaces the previous action. */
    public void whenOpened(Runnable action) {
        machine.whenOpened(action);
    }

    /**
     * Sets the receiver of an instance's transitions, as long as it has peers; it replaces the previous one.
     */
    public void whenChanged(TransitionListener listener) {
        machine.whenChanged(listener);
    }

    // ---------------------------------------------------------------- the health check

    /** The state of the instance's health check; null: it has none. */
    public HealthChecks.@Nullable Status check() {
        return verdict.status();
    }

    /** Whether a health check keeps the instance out, so that no probe starts. */
    public boolean isHeldByCheck() {
        return machine.present() instanceof Open open && open.isHeldByCheck();
    }

    /** Whether the instance is open, and its calls may hang: not if only a check keeps it out. */
    public boolean hasHangingCalls() {
        return machine.present() instanceof Open open && open.hasHangingCalls();
    }

    // ---------------------------------------------------------------- the operator, and the configuration

    /** Whether an operator has taken the instance out. */
    public boolean isDrained() {
        return machine.present() instanceof Drained;
    }

    /**
     * Replaces the settings. If properties of the breaker itself have changed, the breaker starts closed with
     * an empty window, except in a forced state. Otherwise it keeps its state.
     */
    public void configure(HealthSettings next) {
        HealthSettings before = machine.configure(next);
        if (!next.recovery().maxPushback().equals(before.recovery().maxPushback())) {
            machine.pushback().forget();
        }
        if (sameDecisions(next.breaker(), before.breaker())) {
            return;
        }
        HealthState seen = machine.present();
        // A state that an operator forces at the same moment stays.
        while (!seen.isOperators() && !machine.transition(seen, machine.fresh("other settings"))) {
            seen = machine.present();
        }
    }

    /**
     * Ignores the settings that only the engine reads: the statuses that are failures, and {@code enforce}.
     */
    private static boolean sameDecisions(CircuitBreakerProperties one, CircuitBreakerProperties other) {
        return one.withoutEngineSettings().equals(other.withoutEngineSettings());
    }

    // ---------------------------------------------------------------- facts

    /** The present state, in Resilience4j's terms; {@link State#DISABLED}: forced closed. */
    public State state() {
        return machine.settle(machine.now()).word();
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
        return machine.present().isOperators();
    }

    /** Openings without all other instances of the backend, since the start. */
    public long ejections() {
        return machine.ejections();
    }

    /** The evidence that led to the present state. */
    public String why() {
        return machine.present().why();
    }

    /** Time since the last transition. */
    public long nanosInState() {
        return Math.max(0, machine.now() - machine.present().since());
    }

    /** The settings in force. */
    public HealthSettings settings() {
        return machine.settings();
    }

    /** The failure rate of the last calls in percent; -1: too few calls. */
    public float failureRate() {
        Snapshot rates = rates();
        return rates.getTotalNumberOfCalls() < machine.settings().minimumNumberOfCalls() ? -1 : rates.getFailureRate();
    }

    /** The results of the last calls. While open, of the calls before the opening. */
    Snapshot rates() {
        return StateMachine.rates(machine.present());
    }

    /** The generation of the calls that are permitted now; null: none. */
    @Nullable
    Generation generation() {
        return machine.generation();
    }

    /** The present moment, on the clock of the evidence. */
    public long now() {
        return machine.now();
    }

    /** A call under way has waited for the stall time; {@link #overdueEnded} must follow once. */
    public void overdueBegan() {
        stalls.overdueBegan();
    }

    /** A call that was overdue has ended. */
    public void overdueEnded() {
        stalls.overdueEnded();
    }

    /** Calls under way that have waited for the stall time. */
    public int overdue() {
        return stalls.overdue();
    }

    /** Calls with a permit that entered in the present state; of a drained instance, those under way. */
    public int inFlight() {
        return caps.inFlight();
    }

    /** Whether calls are permitted. Unlike {@link #permits}, it changes nothing. */
    public boolean isIn() {
        return generation() != null;
    }

    RecentOutcomes recent() {
        return recent;
    }

    /** The entry in Resilience4j's registry. */
    public RegisteredBreaker resilience4j() {
        return face;
    }
}
