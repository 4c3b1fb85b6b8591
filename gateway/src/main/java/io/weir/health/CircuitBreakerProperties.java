package io.weir.health;

import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import java.util.Set;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.backends.<name>.circuit-breaker}: when calls to a failing backend stop. The names are
 * Resilience4j's own.
 *
 * @param failureRateThreshold share of failed calls that opens the breaker; percent; more than 0 to 100. Half
 *     of the calls failing is a backend in trouble, not a bad request here and there.
 * @param slowCallRateThreshold share of slow calls that opens the breaker; percent; more than 0 to 100.
 *     Slowness fills compartments as surely as failures do, so it counts the same.
 * @param slowCallDurationThreshold calls that take longer are slow; 1ms to 10m, at most the backend's
 *     deadline; default: half the backend's deadline. Resilience4j's 60 s is longer than any caller waits.
 * @param slidingWindowType {@code COUNT_BASED}: the last calls; {@code TIME_BASED}: the last seconds. A count
 *     reacts to a hang within {@code max-concurrent-calls} calls, whatever the traffic was before.
 * @param slidingWindowSize calls, or seconds; 1 to 100000; default: the backend's {@code
 *     max-concurrent-calls}, at least 20, so that the calls held by a hang fill the window.
 * @param minimumNumberOfCalls calls before rates are computed; 1 to 100000, at most the window if that counts
 *     calls; default: 10, or the window if that is smaller.
 * @param permittedNumberOfCallsInHalfOpenState calls that decide whether the backend has recovered; 1 to
 *     1000. Enough to distinguish luck from health, few enough not to flood a backend that has just started.
 * @param waitDurationInOpenState after this time Resilience4j half-opens by itself, whatever the probes
 *     report; 100ms to 10m. It is a safety net: probes detect recovery long before.
 * @param maxWaitDurationInHalfOpenState a breaker that is half-open for longer opens again; 100ms to 10m.
 *     Resilience4j's default of 0 waits for ever.
 * @param recordStatuses the backend's statuses that count as failures; each 400 to 599.
 * @param recordGrpcStatuses gRPC statuses (in headers or trailers) that count as failures; each 1 to 16.
 *     The default is DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE.
 * @param enforce whether an open breaker refuses calls. If not, it still opens and closes, every call
 *     proceeds, and calls that would have been refused are counted ({@code weir_would_refuse_total}).
 */
public record CircuitBreakerProperties(
        @DefaultValue("50")
        @DecimalMin(value = "0", inclusive = false, message = PERCENT)
        @DecimalMax(value = "100", message = PERCENT)
        float failureRateThreshold,

        @DefaultValue("50")
        @DecimalMin(value = "0", inclusive = false, message = PERCENT)
        @DecimalMax(value = "100", message = PERCENT)
        float slowCallRateThreshold,

        @Nullable @DurationMin(millis = 1) @DurationMax(minutes = 10)
        Duration slowCallDurationThreshold,

        @DefaultValue("COUNT_BASED") SlidingWindowType slidingWindowType,
        @Nullable @Min(1) @Max(100_000) Integer slidingWindowSize,
        @Nullable @Min(1) @Max(100_000) Integer minimumNumberOfCalls,
        @DefaultValue("5") @Min(1) @Max(1000) int permittedNumberOfCallsInHalfOpenState,

        @DefaultValue("60s") @DurationMin(millis = 100) @DurationMax(minutes = 10)
        Duration waitDurationInOpenState,

        @DefaultValue("5s") @DurationMin(millis = 100) @DurationMax(minutes = 10)
        Duration maxWaitDurationInHalfOpenState,

        @DefaultValue({"500", "502", "503", "504"}) Set<@Min(400) @Max(599) Integer> recordStatuses,
        @DefaultValue({"4", "13", "14"}) Set<@Min(1) @Max(16) Integer> recordGrpcStatuses,
        @DefaultValue("true") boolean enforce) {

    private static final String PERCENT = "more than 0 to 100 percent";

    /** Copies the sets. */
    public CircuitBreakerProperties {
        recordStatuses = Set.copyOf(recordStatuses);
        recordGrpcStatuses = Set.copyOf(recordGrpcStatuses);
    }
}
