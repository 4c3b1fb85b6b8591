package io.weir.health;

import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import java.time.Duration;
import java.util.Set;

/**
 * All that makes a breaker what it is, the figures that it derives from the backend's others included: two with equal settings are one.
 *
 * @param properties as configured
 * @param recovery as configured
 * @param slowCallDurationThreshold from when a call is slow
 * @param slidingWindowSize the window
 * @param minimumNumberOfCalls calls before rates are computed
 */
public record BreakerSettings(
        CircuitBreakerProperties properties,
        RecoveryProperties recovery,
        Duration slowCallDurationThreshold,
        int slidingWindowSize,
        int minimumNumberOfCalls) {

    /** The settings of a backend's breaker. */
    public static BreakerSettings of(
            CircuitBreakerProperties properties,
            RecoveryProperties recovery,
            Duration deadline,
            int maxConcurrentCalls) {
        return new BreakerSettings(
                withoutStatuses(properties),
                recovery,
                BreakerConfigs.slowCallDurationThreshold(properties, deadline),
                BreakerConfigs.slidingWindowSize(properties, maxConcurrentCalls),
                BreakerConfigs.minimumNumberOfCalls(properties, maxConcurrentCalls));
    }

    /** What counts as a failure, and whether it refuses, is the engine's to know: it may change without another breaker. */
    private static CircuitBreakerProperties withoutStatuses(CircuitBreakerProperties of) {
        return new CircuitBreakerProperties(
                of.failureRateThreshold(),
                of.slowCallRateThreshold(),
                null,
                of.slidingWindowType(),
                null,
                null,
                of.permittedNumberOfCallsInHalfOpenState(),
                of.waitDurationInOpenState(),
                of.maxWaitDurationInHalfOpenState(),
                Set.of(),
                Set.of(),
                true);
    }

    /** Resilience4j's configuration. */
    public CircuitBreakerConfig resilience4j() {
        return BreakerConfigs.of(properties, slowCallDurationThreshold, slidingWindowSize, minimumNumberOfCalls);
    }
}
