package io.weir.health;

import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowSynchronizationStrategy;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import java.time.Duration;

/**
 * Creates Resilience4j's configuration from Weir's properties, with defaults derived from the backend's other
 * properties.
 */
public final class BreakerConfigs {

    private static final int MIN_WINDOW = 20;
    private static final int MIN_CALLS = 10;

    private BreakerConfigs() {}

    /** The slow-call threshold: as configured, or half the deadline. */
    public static Duration slowCallDurationThreshold(CircuitBreakerProperties properties, Duration deadline) {
        Duration configured = properties.slowCallDurationThreshold();
        return configured != null ? configured : deadline.dividedBy(2);
    }

    /** The window: as configured, or the limit on concurrent calls, at least 20. */
    public static int slidingWindowSize(CircuitBreakerProperties properties, int maxConcurrentCalls) {
        Integer configured = properties.slidingWindowSize();
        return configured != null ? configured : Math.max(MIN_WINDOW, maxConcurrentCalls);
    }

    /** The calls needed before rates are computed: as configured, or 10, or the window if that is smaller. */
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
                        // The default strategy takes a lock, and an event loop must not wait for one.
                        SlidingWindowSynchronizationStrategy.LOCK_FREE)
                .permittedNumberOfCallsInHalfOpenState(properties.permittedNumberOfCallsInHalfOpenState())
                .waitDurationInOpenState(properties.waitDurationInOpenState())
                .maxWaitDurationInHalfOpenState(properties.maxWaitDurationInHalfOpenState())
                // The engine decides which results are failures, before it records them.
                .recordException(failure -> true)
                .writableStackTraceEnabled(false)
                .build();
    }
}
