package io.weir.health;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.github.resilience4j.core.metrics.Snapshot;
import io.weir.health.Health.Permits;
import io.weir.health.HealthState.Cause;
import io.weir.health.HealthState.Closed;
import io.weir.health.HealthState.Drained;
import io.weir.health.HealthState.Forced;
import io.weir.health.HealthState.HalfOpen;
import io.weir.health.HealthState.Open;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.DoubleSupplier;
import java.util.function.LongPredicate;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The state of a {@link Health}, its transitions, and their effects: permits, log, listeners, the group. The
 * other parts of a health decide which transition is due.
 */
// Concurrency: `state` is the only atomic that decides. A transition is a CAS from the state that was read;
// the thread whose CAS succeeds carries out the effects. The effects of two transitions may overlap, so none
// of them depends on the order: the compartment reads the present limit again after each change, and each
// generation is closed by the thread that has replaced it.
final class StateMachine {

    private static final Logger log = LoggerFactory.getLogger(Health.class);

    private static final long SETTLED_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long RELAPSE_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final int MAX_RELAPSES = 5;

    private final Health health;
    /** The subject of log lines, such as {@code backend orders}. */
    private final String subject;

    private final Permits compartment;
    private final GroupMembership membership;
    private final LongSupplier nanoClock;
    private final DoubleSupplier random;
    private final AtomicReference<HealthState> state;
    /** Of an instance: its openings without its peers. */
    private final AtomicLong ejections = new AtomicLong();

    private volatile HealthSettings settings;
    /** Whether calls that fail do not open the breaker now. */
    private final LongPredicate veto;

    private final boolean isRoute;
    private final BackendRoutes routes;
    private final Pushback pushback;
    private volatile Runnable whenOpened = () -> {};
    private volatile TransitionListener whenChanged = (from, to, why, isWithPeers) -> {};

    StateMachine(
            Health health,
            String subject,
            HealthSettings settings,
            Permits compartment,
            GroupMembership membership,
            @Nullable LongPredicate routeVeto,
            LongSupplier nanoClock,
            DoubleSupplier random) {
        this.health = health;
        this.subject = subject;
        this.settings = settings;
        this.compartment = compartment;
        this.membership = membership;
        this.routes = new BackendRoutes(this);
        this.pushback =
                new Pushback(() -> this.settings.recovery().maxPushback().toNanos(), random);
        this.isRoute = routeVeto != null;
        this.veto = routeVeto == null ? routes::areOthersWell : routeVeto;
        this.nanoClock = nanoClock;
        this.random = random;
        this.state = new AtomicReference<>(fresh("the start"));
    }

    // ---------------------------------------------------------------- the parts

    /** The present state, with the data that belong to it. */
    HealthState present() {
        return state.get();
    }

    HealthSettings settings() {
        return settings;
    }

    Permits compartment() {
        return compartment;
    }

    GroupMembership membership() {
        return membership;
    }

    /** The routes of a backend, and the origins of its outcomes. Of any other health: unused. */
    BackendRoutes routes() {
        return routes;
    }

    /** The time for which the instance has asked to be left alone. */
    Pushback pushback() {
        return pushback;
    }

    /** Whether the state is that of a route. */
    boolean isRoute() {
        return isRoute;
    }

    long now() {
        return nanoClock.getAsLong();
    }

    long ejections() {
        return ejections.get();
    }

    /**
     * Whether calls that fail do not open the breaker now: they are those of single routes, or of few
     * callers.
     */
    boolean isVetoed(long now) {
        return veto.test(now);
    }

    /**
     * A health of a route of this backend.
     *
     * @param routeVeto as {@link #isVetoed}
     */
    Health ofRoute(String route, Permits permits, LongPredicate routeVeto) {
        return new Health(route, "route " + route + " of " + subject, settings, permits, routeVeto, nanoClock, random);
    }

    void whenOpened(Runnable action) {
        whenOpened = action;
    }

    void whenChanged(TransitionListener listener) {
        whenChanged = listener;
    }

    /** Replaces the settings. Returns the previous ones. */
    HealthSettings configure(HealthSettings next) {
        HealthSettings before = settings;
        settings = next;
        routes.configure(next);
        return before;
    }

    // ---------------------------------------------------------------- transitions

    /** Closes the breaker if its ramp has settled, and returns the present state. */
    HealthState settle(long now) {
        HealthState seen = state.get();
        if (seen instanceof HalfOpen ramp && ramp.isSettled(now, SETTLED_NANOS)) {
            close(ramp, now);
            return state.get();
        }
        return seen;
    }

    /** A call of the ramp was answered well. */
    void rampGrew(HalfOpen ramp, long now) {
        if (ramp.ramp() >= membership.share() * compartment.limit() || ramp.isSettled(now, SETTLED_NANOS)) {
            close(ramp, now);
        } else {
            compartment.limitChanged();
        }
    }

    /**
     * The calls fail or stall: opens the breaker, and all instances of a backend. While backups are in
     * reserve, only the primaries have failed, and only they open.
     */
    void fail(HealthState from, boolean isStalled, String why, long now) {
        HealthGroup group = membership.members();
        if (group == null || !(from instanceof Closed closed) || !group.hasReserve()) {
            open(from, isStalled, why, now);
        } else if (transition(from, closed.withoutEvidence(new Generation(now), window()))) {
            routes.backendOpened();
            group.openPrimaries(isStalled, why, now);
        }
    }

    /** Opens the breaker, and all instances of a backend. */
    void open(HealthState from, boolean isStalled, String why, long now) {
        HealthGroup group = membership.members();
        if (group != null) {
            // First: otherwise an instance whose state changes now would close the backend again.
            group.openingBegins();
        }
        if (becomeOpen(from, isStalled, why, now) && group != null) {
            group.openAll(isStalled, why, now);
        }
        if (group != null) {
            group.openingEnds();
        }
    }

    /** Opens this breaker only. False: the state has changed meanwhile. */
    boolean becomeOpen(HealthState from, boolean isStalled, String why, long now) {
        ProbeSchedule probes = new ProbeSchedule(settings, random, now);
        if (!transition(from, new Open(probes, rates(from), isStalled, relapses(from, now), now, why))) {
            return false;
        }
        whenOpened.run();
        return true;
    }

    /** A breaker that is open has probes again. */
    void openedAgain() {
        whenOpened.run();
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

    /**
     * The calls keep an open instance out no longer; its health check may.
     *
     * @param answerNanos the time after which the answer came that shows it
     */
    void recovered(Open from, String why, long answerNanos, long now) {
        switch (from.cause()) {
            case CALLS -> {
                if (isRoute && from.isStalled()) {
                    // No queue is in front of a route's ramp, so a route that was only slow would lose calls.
                    transition(from, fresh(new Generation(now, answerNanos), now, why));
                } else {
                    transition(from, ramp(new Generation(now, answerNanos), from.relapses(), now, why));
                }
            }
            case CALLS_AND_CHECK -> transition(from, from.withCause(Cause.CHECK, from.probes()));
            case CHECK -> {
                // A late answer; the check decides.
            }
        }
    }

    void halfOpen(Open from, String why, long now) {
        transition(from, ramp(from.relapses(), now, why));
    }

    HalfOpen ramp(int relapses, long now, String why) {
        return ramp(new Generation(now), relapses, now, why);
    }

    private HalfOpen ramp(Generation generation, int relapses, long now, String why) {
        int start = settings.breaker().permittedNumberOfCallsInHalfOpenState();
        return new HalfOpen(generation, window(), start, relapses, now, why);
    }

    private void close(HalfOpen from, long now) {
        // The generation goes on: the ramp's calls belong to the closed state, too.
        transition(
                from,
                new Closed(
                        from.generation(), window(), from.relapses(), from.since(), now, "the backend has recovered"));
    }

    Closed fresh(String why) {
        long now = nanoClock.getAsLong();
        return fresh(new Generation(now), now, why);
    }

    private Closed fresh(Generation generation, long now, String why) {
        return new Closed(generation, window(), 0, 0, now, why);
    }

    CallWindow window() {
        return new CallWindow(settings, nanoClock);
    }

    /** The probes of an opening that begins now. */
    ProbeSchedule schedule(long now) {
        return new ProbeSchedule(settings, random, now);
    }

    /** No probes: a passed health check ends the opening. */
    ProbeSchedule noProbes(long now) {
        return ProbeSchedule.never(settings, random, now);
    }

    void replace(HealthState to) {
        while (!transition(state.get(), to)) {
            // Another thread has changed the state: replace that state, too.
        }
    }

    /** Lets every CAS fail that another thread has begun. */
    void renew() {
        HealthState seen = state.get();
        while (!state.compareAndSet(seen, seen.copy())) {
            seen = state.get();
        }
    }

    boolean transition(HealthState from, HealthState to) {
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
        HealthGroup group = membership.peers();
        boolean isWithPeers = group != null && group.isOpeningAll();
        if (to instanceof Open && !isWithPeers) {
            ejections.incrementAndGet();
        }
        if (to instanceof Open && from.generation() != null) {
            routes.backendOpened();
        }
        report(from.word(), to);
        if (group != null && from.word() != to.word()) {
            whenChanged.changed(from.word(), to.word(), to.why(), isWithPeers);
        }
        if (group != null && (from.word() != to.word() || from.isOperators())) {
            if (to.generation() == null || from.generation() == null) {
                health.recent().clear();
            }
            group.changed(to instanceof Open ? health : null);
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
            // A reader of warnings alone also reads that it is over.
            case Closed closed -> log.warn("Breaker of {} closed: {}", subject, closed.why());
            case Forced forced -> log.warn("Breaker of {} is {}", subject, Health.stateWord(forced.word()));
            case Drained drained -> log.warn("Breaker of {} is {}", subject, Health.DRAINED);
        }
        health.resilience4j().publishTransition(from, to.word());
    }

    // ---------------------------------------------------------------- facts

    /** The results of the last calls. While open, of the calls before the opening. */
    static Snapshot rates(HealthState state) {
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
}
