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
 * Resilience4j's own, except those of the stall.
 *
 * @param failureRateThreshold share of failed calls that opens the breaker; percent; more than 0 to 100. Half
 *     of the calls failing is a backend in trouble, not a bad request here and there.
 * @param slowCallRateThreshold share of slow calls that opens the breaker; percent; more than 0 to 100. With
 *     the default, a slow backend that answers is not refused.
 * @param slowCallDurationThreshold calls that take longer are slow; 1ms to 10m, at most the backend's
 *     deadline; default: the backend's deadline.
 * @param slidingWindowType {@code COUNT_BASED}: the last calls, none older than 60 s; {@code TIME_BASED}: the
 *     last seconds.
 * @param slidingWindowSize calls, or seconds; 1 to 100000; default: 100 calls, or 60 seconds.
 * @param minimumNumberOfCalls calls before rates are judged; 1 to 100000, at most the window if that counts
 *     calls; default: 20, or the window if that is smaller.
 * @param stallCalls number of unanswered calls that opens the breaker: calls that were sent after the last
 *     answer and have each waited for {@code stall-duration}; 1 to 1000, in effect at most the limit on
 *     calls. A smaller number opens the breaker sooner; a backend in which single calls get stuck needs a
 *     larger one.
 * @param stallDuration time without an answer after which a call counts as stalled; 10ms to 10m, at most the
 *     deadline; default: derived from the deadline. That is half the route's deadline and at most 2 s, but at
 *     least three times the usual time of the route's calls; the whole deadline while no usual time is known.
 *     After an opening it is at least three times as long as the answer took that ended it, until faster
 *     answers follow.
 * @param permittedNumberOfCallsInHalfOpenState calls that a backend gets at once when it has recovered; 1 to
 *     1000. The limit grows from here by one with each good answer. Enough to distinguish luck from health,
 *     few enough not to flood a backend that has just started.
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

        @DefaultValue("100")
        @DecimalMin(value = "0", inclusive = false, message = PERCENT)
        @DecimalMax(value = "100", message = PERCENT)
        float slowCallRateThreshold,

        @Nullable @DurationMin(millis = 1) @DurationMax(minutes = 10)
        Duration slowCallDurationThreshold,

        @DefaultValue("COUNT_BASED") SlidingWindowType slidingWindowType,
        @Nullable @Min(1) @Max(100_000) Integer slidingWindowSize,
        @Nullable @Min(1) @Max(100_000) Integer minimumNumberOfCalls,
        @DefaultValue("5") @Min(1) @Max(1000) int stallCalls,

        @Nullable @DurationMin(millis = 10) @DurationMax(minutes = 10)
        Duration stallDuration,

        @DefaultValue("5") @Min(1) @Max(1000) int permittedNumberOfCallsInHalfOpenState,
        @DefaultValue({"500", "502", "503", "504"}) Set<@Min(400) @Max(599) Integer> recordStatuses,
        @DefaultValue({"4", "13", "14"}) Set<@Min(1) @Max(16) Integer> recordGrpcStatuses,
        @DefaultValue("true") boolean enforce) {

    private static final String PERCENT = "more than 0 to 100 percent";

    /** Copies the sets. */
    public CircuitBreakerProperties {
        recordStatuses = Set.copyOf(recordStatuses);
        recordGrpcStatuses = Set.copyOf(recordGrpcStatuses);
    }

    /** Without the settings that only the engine reads. */
    CircuitBreakerProperties withoutEngineSettings() {
        return new CircuitBreakerProperties(
                failureRateThreshold,
                slowCallRateThreshold,
                slowCallDurationThreshold,
                slidingWindowType,
                slidingWindowSize,
                minimumNumberOfCalls,
                stallCalls,
                stallDuration,
                permittedNumberOfCallsInHalfOpenState,
                Set.of(),
                Set.of(),
                true);
    }
}
