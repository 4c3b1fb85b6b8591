package io.weir.management;

import com.fasterxml.jackson.annotation.JsonValue;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreaker.StateTransition;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What changed of late, for who looks at the dashboard: breakers that opened and closed, what operators did, what
 * became of the configuration. The last {@value #CAPACITY}; the log has them all.
 */
// Concurrency: guarded by its monitor, held for a copy of some references. A breaker changes its state on an event
// loop, and seldom.
public final class RecentEvents {

    /** As many are remembered. */
    public static final int CAPACITY = 50;

    /** What can happen. */
    public enum Kind {
        BREAKER_OPENED,
        BREAKER_HALF_OPENED,
        BREAKER_CLOSED,
        BREAKER_FORCED,
        BREAKER_RELEASED,
        LIMIT_CHANGED,
        CONFIGURATION_RELOADED,
        CONFIGURATION_REFUSED;

        /** As it is shown: {@code breaker-opened}. */
        @JsonValue
        public String word() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }

    /**
     * Something that happened.
     *
     * @param number counts from 1, so that who looks again knows what is new
     * @param at when
     * @param backend whose; null: the gateway's
     * @param text what, in a sentence
     * @param by who did it: an address, or the watch; null: the gateway by itself
     */
    public record Happening(
            long number,
            Instant at,
            Kind kind,
            @Nullable String backend,
            String text,
            @Nullable String by) {}

    private final InstantSource clock;
    private final Deque<Happening> last = new ArrayDeque<>();
    private long number;

    /** None yet. */
    public RecentEvents(InstantSource clock) {
        this.clock = clock;
    }

    /** Takes note. */
    public synchronized void add(Kind kind, @Nullable String backend, String text, @Nullable String by) {
        if (last.size() == CAPACITY) {
            last.removeLast();
        }
        number++;
        last.addFirst(new Happening(number, clock.instant(), kind, backend, text, by));
    }

    /** The last ones, the latest first. */
    public synchronized List<Happening> last() {
        return List.copyOf(last);
    }

    /** Takes note of what the breakers in a registry do by themselves, now and later. */
    public void watch(CircuitBreakerRegistry breakers) {
        breakers.getEventPublisher()
                .onEntryAdded(event -> watch(breakers, event.getAddedEntry()))
                .onEntryReplaced(event -> watch(breakers, event.getNewEntry()));
        breakers.getAllCircuitBreakers().forEach(breaker -> watch(breakers, breaker));
    }

    private void watch(CircuitBreakerRegistry breakers, CircuitBreaker breaker) {
        breaker.getEventPublisher().onStateTransition(event -> {
            // One that was replaced goes on for who still goes by it; it is not the backend's any more.
            boolean current =
                    breakers.find(breaker.getName()).filter(of -> of == breaker).isPresent();
            if (current) {
                moved(breaker.getName(), event.getStateTransition());
            }
        });
    }

    /** What is forced is told by who forces it, with the name of who asked. */
    private void moved(String backend, StateTransition transition) {
        if (isForced(transition.getFromState()) || isForced(transition.getToState())) {
            return;
        }
        switch (transition.getToState()) {
            case OPEN -> add(Kind.BREAKER_OPENED, backend, "The breaker opened", null);
            case HALF_OPEN -> add(Kind.BREAKER_HALF_OPENED, backend, "The breaker half-opened", null);
            case CLOSED -> add(Kind.BREAKER_CLOSED, backend, "The breaker closed", null);
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
