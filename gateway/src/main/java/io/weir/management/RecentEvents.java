package io.weir.management;

import com.fasterxml.jackson.annotation.JsonValue;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreaker.StateTransition;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.weir.health.Health;
import io.weir.health.RegisteredBreaker;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The last {@value #CAPACITY} changes, for the dashboard: transitions of breakers, ejections of instances,
 * actions of operators, injected faults, changes of the configuration. The log has all of them.
 */
// Concurrency: guarded by its monitor, held for a copy of some references. Breakers change their state on
// event loops, but seldom.
public final class RecentEvents {

    /** Maximum number of events. */
    public static final int CAPACITY = 50;

    /** The kind of an event. */
    public enum Kind {
        BREAKER_OPENED,
        BREAKER_HALF_OPENED,
        BREAKER_CLOSED,
        BREAKER_FORCED,
        BREAKER_RELEASED,
        INSTANCE_EJECTED,
        INSTANCE_RETURNED,
        INSTANCE_DRAINED,
        FAULT_STARTED,
        FAULT_ENDED,
        LAST_GOOD_EMPTIED,
        LIMIT_CHANGED,
        CONFIGURATION_RELOADED,
        CONFIGURATION_REFUSED;

        /** The word in JSON, such as {@code breaker-opened}. */
        @JsonValue
        public String word() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }

    /**
     * An event.
     *
     * @param number consecutive, from 1, so that a reader recognises new events
     * @param at time of the event
     * @param backend the backend's name; null: the gateway as a whole
     * @param text one sentence
     * @param by the cause: an operator's address, or the file watch; null: the gateway itself
     */
    public record Event(
            long number,
            Instant at,
            Kind kind,
            @Nullable String backend,
            String text,
            @Nullable String by) {}

    private final InstantSource clock;
    private final Deque<Event> last = new ArrayDeque<>();
    private long number;

    /** No events. */
    public RecentEvents(InstantSource clock) {
        this.clock = clock;
    }

    /** Adds an event; drops the oldest one if the list is full. */
    public synchronized void add(Kind kind, @Nullable String backend, String text, @Nullable String by) {
        if (last.size() == CAPACITY) {
            last.removeLast();
        }
        number++;
        last.addFirst(new Event(number, clock.instant(), kind, backend, text, by));
    }

    /** The last events, the latest first. */
    public synchronized List<Event> last() {
        return List.copyOf(last);
    }

    /** Adds the transitions of all present and future breakers of a registry from now on. */
    public void watch(CircuitBreakerRegistry breakers) {
        breakers.getEventPublisher()
                .onEntryAdded(event -> watch(breakers, event.getAddedEntry()))
                .onEntryReplaced(event -> watch(breakers, event.getNewEntry()));
        breakers.getAllCircuitBreakers().forEach(breaker -> watch(breakers, breaker));
    }

    /**
     * Adds the ejections of an instance and its returns from now on. Not added: an opening of all instances,
     * which is an opening of the backend's breaker, and the relapses of an instance that has not returned,
     * since these would push out all other events.
     *
     * @param backend the breaker of the instance's backend
     * @param address scheme and authority of the instance
     */
    public void watch(CircuitBreakerRegistry breakers, CircuitBreaker backend, String address, Health instance) {
        AtomicBoolean isEjected = new AtomicBoolean();
        instance.whenChanged((from, to, why, isWithPeers) -> {
            if (!isCurrent(breakers, backend)) {
                return;
            }
            String name = backend.getName();
            if (to == CircuitBreaker.State.OPEN && !isWithPeers && !isEjected.getAndSet(true)) {
                add(Kind.INSTANCE_EJECTED, name, "Instance " + address + " was ejected: " + why, null);
            } else if (to == CircuitBreaker.State.CLOSED && isEjected.getAndSet(false) && !isForced(from)) {
                add(Kind.INSTANCE_RETURNED, name, "Instance " + address + " takes its share of the calls again", null);
            } else if (isForced(to)) {
                isEjected.set(false);
            }
        });
    }

    /**
     * The breaker of a removed backend still serves its last exchanges. A new backend may have the same name,
     * so the transitions of a removed one are not shown.
     */
    private static boolean isCurrent(CircuitBreakerRegistry breakers, CircuitBreaker breaker) {
        return breakers.find(breaker.getName())
                .filter(found -> found == breaker)
                .isPresent();
    }

    private void watch(CircuitBreakerRegistry breakers, CircuitBreaker breaker) {
        breaker.getEventPublisher().onStateTransition(event -> {
            if (isCurrent(breakers, breaker)) {
                addTransition(
                        breaker.getName(),
                        event.getStateTransition(),
                        breaker instanceof RegisteredBreaker registered ? ": " + registered.why() : "");
            }
        });
    }

    /** Skips forced transitions: the endpoint adds them, with the operator's address. */
    private void addTransition(String backend, StateTransition transition, String why) {
        if (isForced(transition.getFromState()) || isForced(transition.getToState())) {
            return;
        }
        switch (transition.getToState()) {
            case OPEN -> add(Kind.BREAKER_OPENED, backend, "The breaker opened" + why, null);
            case HALF_OPEN -> add(Kind.BREAKER_HALF_OPENED, backend, "The breaker half-opened" + why, null);
            case CLOSED -> add(Kind.BREAKER_CLOSED, backend, "The breaker closed" + why, null);
            case FORCED_OPEN, DISABLED, METRICS_ONLY -> {}
        }
    }

    private static boolean isForced(CircuitBreaker.State state) {
        return switch (state) {
            case CLOSED, OPEN, HALF_OPEN -> false;
            case FORCED_OPEN, DISABLED, METRICS_ONLY -> true;
        };
    }
}
