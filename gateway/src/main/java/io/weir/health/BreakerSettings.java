package io.weir.health;

import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import java.time.Duration;
import java.util.Set;

/**
 * The settings of a breaker, including the figures derived from the backend's other properties. Breakers with
 * equal settings are interchangeable.
 *
 * @param properties as configured, without the derived figures and without the statuses that count as
 *     failures
 * @param recovery as configured
 * @param slowCallDurationThreshold calls that take longer are slow
 * @param slidingWindowSize the window, in calls or seconds
 * @param minimumNumberOfCalls calls needed before rates are computed
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

    /**
     * The engine decides which statuses are failures and whether the breaker refuses: changing that keeps the
     * breaker.
     */
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
