package io.weir.health;

import io.github.resilience4j.circuitbreaker.CallNotPermittedException;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.github.resilience4j.circuitbreaker.event.CircuitBreakerEvent;
import io.github.resilience4j.circuitbreaker.event.CircuitBreakerOnCallNotPermittedEvent;
import io.github.resilience4j.circuitbreaker.event.CircuitBreakerOnErrorEvent;
import io.github.resilience4j.circuitbreaker.event.CircuitBreakerOnFailureRateExceededEvent;
import io.github.resilience4j.circuitbreaker.event.CircuitBreakerOnIgnoredErrorEvent;
import io.github.resilience4j.circuitbreaker.event.CircuitBreakerOnResetEvent;
import io.github.resilience4j.circuitbreaker.event.CircuitBreakerOnSlowCallRateExceededEvent;
import io.github.resilience4j.circuitbreaker.event.CircuitBreakerOnStateTransitionEvent;
import io.github.resilience4j.circuitbreaker.event.CircuitBreakerOnSuccessEvent;
import io.github.resilience4j.core.EventConsumer;
import io.github.resilience4j.core.EventProcessor;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * Adapts a {@link Health} to Resilience4j's interface, so that Resilience4j's registry, meters, endpoints and
 * events show it. A transition through this interface counts as an operator's action.
 */
public final class RegisteredBreaker implements CircuitBreaker {

    private final String name;
    private final Health health;
    private final RecentRates metrics = new RecentRates();
    private final Events events = new Events();
    private final LongAdder notPermitted = new LongAdder();
    /** Reused, since a refusal must cost next to nothing; the event endpoint leaves refusals out. */
    private final CircuitBreakerOnCallNotPermittedEvent notPermittedEvent;

    private volatile Map<String, String> tags = Map.of();

    RegisteredBreaker(String name, Health health) {
        this.name = name;
        this.health = health;
        this.notPermittedEvent = new CircuitBreakerOnCallNotPermittedEvent(name);
    }

    /** Registers the breaker, in place of any other breaker of that name. */
    public void register(CircuitBreakerRegistry registry) {
        tags = Map.copyOf(registry.getTags());
        // A registry creates entries itself, and replaces only existing entries. So its own entry exists for
        // a moment.
        registry.circuitBreaker(name, health.settings().resilience4j());
        registry.replace(name, this);
    }

    // ---------------------------------------------------------------- events

    void publishNotPermitted() {
        notPermitted.increment();
        if (events.hasConsumers()) {
            events.processEvent(notPermittedEvent);
        }
    }

    void publishSuccess(long backendNanos) {
        if (events.hasConsumers()) {
            events.processEvent(new CircuitBreakerOnSuccessEvent(name, Duration.ofNanos(backendNanos)));
        }
    }

    void publishError(long backendNanos, Throwable failure) {
        if (events.hasConsumers()) {
            events.processEvent(new CircuitBreakerOnErrorEvent(name, Duration.ofNanos(backendNanos), failure));
        }
    }

    void publishTransition(State from, State to) {
        if (events.hasConsumers()) {
            events.processEvent(
                    new CircuitBreakerOnStateTransitionEvent(name, StateTransition.transitionBetween(name, from, to)));
        }
    }

    // ---------------------------------------------------------------- calls of other users of the registry

    @Override
    public boolean tryAcquirePermission() {
        boolean isPermitted = health.enter(health.now(), false) != null;
        if (!isPermitted) {
            publishNotPermitted();
        }
        return isPermitted;
    }

    @Override
    public void acquirePermission() {
        if (!tryAcquirePermission()) {
            throw CallNotPermittedException.createCallNotPermittedException(this);
        }
    }

    @Override
    public void releasePermission() {}

    @Override
    public void onError(long duration, TimeUnit unit, Throwable failure) {
        health.failed(
                health.generation(), unit.toNanos(duration), new BackendFailure(failure.toString()), health.now());
    }

    @Override
    public void onSuccess(long duration, TimeUnit unit) {
        health.succeeded(health.generation(), unit.toNanos(duration), health.now());
    }

    @Override
    public void onResult(long duration, TimeUnit unit, Object result) {
        onSuccess(duration, unit);
    }

    // ---------------------------------------------------------------- transitions

    @Override
    public void reset() {
        health.operator().release();
    }

    @Override
    public void transitionToClosedState() {
        health.operator().release();
    }

    @Override
    public void transitionToOpenState() {
        health.operator().openNow();
    }

    /** The time is ignored: probes end the open state. */
    @Override
    public void transitionToOpenStateFor(Duration waitDuration) {
        health.operator().openNow();
    }

    /** The time is ignored: probes end the open state. */
    @Override
    public void transitionToOpenStateUntil(Instant waitUntil) {
        health.operator().openNow();
    }

    @Override
    public void transitionToHalfOpenState() {
        health.operator().halfOpenNow();
    }

    @Override
    public void transitionToDisabledState() {
        health.operator().forceClosed();
    }

    @Override
    public void transitionToMetricsOnlyState() {
        health.operator().forceClosed();
    }

    @Override
    public void transitionToForcedOpenState() {
        health.operator().forceOpen();
    }

    // ---------------------------------------------------------------- facts

    @Override
    public String getName() {
        return name;
    }

    /** The evidence that led to the present state. */
    public String why() {
        return health.why();
    }

    @Override
    public State getState() {
        return health.state();
    }

    @Override
    public CircuitBreakerConfig getCircuitBreakerConfig() {
        return health.settings().resilience4j();
    }

    @Override
    public Metrics getMetrics() {
        return metrics;
    }

    @Override
    public Map<String, String> getTags() {
        return tags;
    }

    @Override
    public EventPublisher getEventPublisher() {
        return events;
    }

    @Override
    public long getCurrentTimestamp() {
        return health.now();
    }

    @Override
    public TimeUnit getTimestampUnit() {
        return TimeUnit.NANOSECONDS;
    }

    @Override
    public String toString() {
        return "CircuitBreaker '%s': %s".formatted(name, Health.stateWord(getState()));
    }

    private final class RecentRates implements Metrics {

        @Override
        public float getFailureRate() {
            return health.failureRate();
        }

        @Override
        public float getSlowCallRate() {
            return health.failureRate() < 0 ? -1 : health.rates().getSlowCallRate();
        }

        @Override
        public int getNumberOfSlowCalls() {
            return health.rates().getTotalNumberOfSlowCalls();
        }

        @Override
        public int getNumberOfSlowSuccessfulCalls() {
            return health.rates().getNumberOfSlowSuccessfulCalls();
        }

        @Override
        public int getNumberOfSlowFailedCalls() {
            return health.rates().getNumberOfSlowFailedCalls();
        }

        @Override
        public int getNumberOfBufferedCalls() {
            return health.rates().getTotalNumberOfCalls();
        }

        @Override
        public int getNumberOfFailedCalls() {
            return health.rates().getNumberOfFailedCalls();
        }

        @Override
        public long getNumberOfNotPermittedCalls() {
            return notPermitted.sum();
        }

        @Override
        public int getNumberOfSuccessfulCalls() {
            return health.rates().getNumberOfSuccessfulCalls();
        }
    }

    private static final class Events extends EventProcessor<CircuitBreakerEvent> implements EventPublisher {

        @Override
        public EventPublisher onSuccess(EventConsumer<CircuitBreakerOnSuccessEvent> consumer) {
            registerConsumer(CircuitBreakerOnSuccessEvent.class.getName(), consumer);
            return this;
        }

        @Override
        public EventPublisher onError(EventConsumer<CircuitBreakerOnErrorEvent> consumer) {
            registerConsumer(CircuitBreakerOnErrorEvent.class.getName(), consumer);
            return this;
        }

        @Override
        public EventPublisher onStateTransition(EventConsumer<CircuitBreakerOnStateTransitionEvent> consumer) {
            registerConsumer(CircuitBreakerOnStateTransitionEvent.class.getName(), consumer);
            return this;
        }

        @Override
        public EventPublisher onReset(EventConsumer<CircuitBreakerOnResetEvent> consumer) {
            registerConsumer(CircuitBreakerOnResetEvent.class.getName(), consumer);
            return this;
        }

        @Override
        public EventPublisher onIgnoredError(EventConsumer<CircuitBreakerOnIgnoredErrorEvent> consumer) {
            registerConsumer(CircuitBreakerOnIgnoredErrorEvent.class.getName(), consumer);
            return this;
        }

        @Override
        public EventPublisher onCallNotPermitted(EventConsumer<CircuitBreakerOnCallNotPermittedEvent> consumer) {
            registerConsumer(CircuitBreakerOnCallNotPermittedEvent.class.getName(), consumer);
            return this;
        }

        @Override
        public EventPublisher onFailureRateExceeded(EventConsumer<CircuitBreakerOnFailureRateExceededEvent> consumer) {
            registerConsumer(CircuitBreakerOnFailureRateExceededEvent.class.getName(), consumer);
            return this;
        }

        @Override
        public EventPublisher onSlowCallRateExceeded(
                EventConsumer<CircuitBreakerOnSlowCallRateExceededEvent> consumer) {
            registerConsumer(CircuitBreakerOnSlowCallRateExceededEvent.class.getName(), consumer);
            return this;
        }
    }
}
