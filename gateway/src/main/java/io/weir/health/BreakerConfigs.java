package io.weir.health;

import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowSynchronizationStrategy;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import java.time.Duration;

/** Resilience4j's configuration from Weir's properties, with the defaults that depend on the backend's others. */
public final class BreakerConfigs {

    private static final int MIN_WINDOW = 20;
    private static final int MIN_CALLS = 10;

    private BreakerConfigs() {}

    /** From when a call is slow: as configured, or half the deadline. */
    public static Duration slowCallDurationThreshold(CircuitBreakerProperties properties, Duration deadline) {
        Duration configured = properties.slowCallDurationThreshold();
        return configured != null ? configured : deadline.dividedBy(2);
    }

    /** The window: as configured, or a compartment's worth of calls. */
    public static int slidingWindowSize(CircuitBreakerProperties properties, int maxConcurrentCalls) {
        Integer configured = properties.slidingWindowSize();
        return configured != null ? configured : Math.max(MIN_WINDOW, maxConcurrentCalls);
    }

    /** Calls before rates are computed: as configured, or ten, or a smaller window. */
    public static int minimumNumberOfCalls(CircuitBreakerProperties properties, int maxConcurrentCalls) {
        Integer configured = properties.minimumNumberOfCalls();
        if (configured != null) {
            return configured;
        }
        return properties.slidingWindowType() == SlidingWindowType.COUNT_BASED
                ? Math.min(MIN_CALLS, slidingWindowSize(properties, maxConcurrentCalls))
                : MIN_CALLS;
    }

    /** Resilience4j's configuration of a backend's breaker. */
    public static CircuitBreakerConfig of(
            CircuitBreakerProperties properties, Duration deadline, int maxConcurrentCalls) {
        return of(
                properties,
                slowCallDurationThreshold(properties, deadline),
                slidingWindowSize(properties, maxConcurrentCalls),
                minimumNumberOfCalls(properties, maxConcurrentCalls));
    }

    static CircuitBreakerConfig of(
            CircuitBreakerProperties properties, Duration slowCallDurationThreshold, int window, int minimumCalls) {
        return CircuitBreakerConfig.custom()
                .failureRateThreshold(properties.failureRateThreshold())
                .slowCallRateThreshold(properties.slowCallRateThreshold())
                .slowCallDurationThreshold(slowCallDurationThreshold)
                .slidingWindow(
                        window,
                        minimumCalls,
                        properties.slidingWindowType(),
                        // The other strategy takes a lock, which an event loop must not wait for.
                        SlidingWindowSynchronizationStrategy.LOCK_FREE)
                .permittedNumberOfCallsInHalfOpenState(properties.permittedNumberOfCallsInHalfOpenState())
                .waitDurationInOpenState(properties.waitDurationInOpenState())
                .maxWaitDurationInHalfOpenState(properties.maxWaitDurationInHalfOpenState())
                // What is a failure is decided before the breaker is told.
                .recordException(failure -> true)
                .writableStackTraceEnabled(false)
                .build();
    }
}
