package io.weir.health;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The routes of a backend, as far as they are told apart, and the origins of its last outcomes. A route that
 * fails while others are answered well opens alone ({@link RouteHealth}). The failures of a few callers open
 * nothing while others are answered well. The package's description has the reasons.
 */
// Concurrency: `members` is replaced as a whole, by one thread at a time.
public final class BackendRoutes {

    /** Routes that are told apart; all others share one state. */
    static final int MOST = 64;

    private static final int NO_ROUTE = OutcomeSpread.ROUTES - 1;
    private static final String OTHERS = "(others)";

    private final StateMachine machine;
    private final OutcomeSpread spread = new OutcomeSpread();
    private volatile List<RouteHealth> members = List.of();
    private volatile Consumer<RouteHealth> whenStalled = route -> {};

    BackendRoutes(StateMachine machine) {
        this.machine = machine;
    }

    /** Sets the receiver of each route that opens since its calls hang; it replaces the previous one. */
    public void whenStalled(Consumer<RouteHealth> receiver) {
        whenStalled = receiver;
    }

    void stalled(RouteHealth route) {
        whenStalled.accept(route);
    }

    /**
     * The healths of these routes, of which there are several. A route that is known keeps its own. Nothing
     * changes until {@link #replace}.
     */
    public Map<String, RouteHealth> plan(Set<String> ids) {
        Map<String, RouteHealth> known = new HashMap<>();
        BitSet used = new BitSet();
        for (RouteHealth one : members) {
            known.put(one.id(), one);
            used.set(one.index());
        }
        Map<String, RouteHealth> planned = new HashMap<>();
        for (String id : ids) {
            RouteHealth own = known.get(id);
            if (own == null) {
                int index = Math.min(MOST, used.nextClearBit(0));
                own = index == MOST
                        ? known.computeIfAbsent(OTHERS, others -> new RouteHealth(others, MOST, this, machine))
                        : new RouteHealth(id, index, this, machine);
                used.set(index);
            }
            planned.put(id, own);
        }
        return planned;
    }

    /** Puts planned healths in force, and forgets those of routes that have left. */
    public void replace(Collection<RouteHealth> planned) {
        members = planned.stream().distinct().toList();
        configure(machine.settings());
    }

    /** The routes that are told apart; none if the backend has one. */
    public List<RouteHealth> members() {
        return members;
    }

    /** The routes that are not closed. */
    public List<RouteHealth> notClosed() {
        return members.stream()
                .filter(one -> one.health().state() != State.CLOSED)
                .toList();
    }

    /**
     * Records the outcome of a call to the backend.
     *
     * @param route null: the backend has one route, or the call is a fallback's
     * @param caller any hash of the caller
     */
    public void record(@Nullable RouteHealth route, int caller, boolean hasFailed, long now) {
        spread.record(route == null ? NO_ROUTE : route.index(), caller, hasFailed, now);
    }

    /**
     * Whether the backend does not open although its calls fail: they are those of single routes, or of a few
     * callers, while others are answered well.
     */
    boolean areOthersWell(long now) {
        HealthSettings settings = machine.settings();
        float threshold = settings.breaker().failureRateThreshold();
        int calls = settings.lastCalls();
        return (!members.isEmpty() && spread.failsByRoute(-1, calls, threshold, now))
                || spread.failsByCaller(calls, threshold, now);
    }

    /** Whether a route fails while others are answered well. */
    boolean isAlone(RouteHealth route, long now) {
        HealthSettings settings = machine.settings();
        return spread.failsByRoute(
                route.index(), settings.lastCalls(), settings.breaker().failureRateThreshold(), now);
    }

    /** Whether the backend has answered any call since then. */
    boolean hasAnsweredSince(long time) {
        Generation generation = machine.generation();
        return generation != null && generation.hasAnsweredSince(time);
    }

    boolean hasSlowOne() {
        for (RouteHealth one : members) {
            if (one.isSlow()) {
                return true;
            }
        }
        return false;
    }

    /** Whether an operator holds the state of the backend: then no route has one of its own. */
    boolean isForced() {
        return machine.present().isOperators();
    }

    /** The backend has opened: what its routes have shown before has been judged. */
    void backendOpened() {
        spread.clear();
        members.forEach(RouteHealth::forget);
    }

    /** An operator has released the backend. */
    void release() {
        spread.clear();
        members.forEach(RouteHealth::release);
    }

    void configure(HealthSettings settings) {
        members.forEach(one -> one.configure(settings));
    }
}
