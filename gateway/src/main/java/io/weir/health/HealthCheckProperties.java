package io.weir.health;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import java.time.Duration;
import java.util.Set;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.backends.<name>.health-check}: a GET that the gateway sends to each instance at intervals,
 * whether calls come or not. An instance that fails it gets no calls. Off unless configured. The names are
 * Envoy's.
 *
 * @param path path of the check, requested by GET; starts with {@code /}. Required. Choose a path that stays
 *     good under load: an instance that answers its check with 503 because it is busy leaves its calls to the
 *     others.
 * @param interval time between two checks of an instance, jittered by a tenth; 100ms to 10m. Each gateway
 *     checks by itself, so ten gateways check an instance five times a second with the default.
 * @param timeout time until the answer's head; 10ms to 1m, at most the interval. Pauses of the gateway do not
 *     count.
 * @param healthyThreshold successive checks that an instance must pass before it gets calls again; 1 to 100.
 * @param unhealthyThreshold successive checks that an instance must fail before it gets no more calls; 1 to
 *     100. With 1, a single lost answer takes an instance out.
 * @param expectedStatuses the statuses that pass; each 200 to 599; default: 200 to 399.
 */
public record HealthCheckProperties(
        @NotNull @Pattern(regexp = "/[\\x21-\\x7e]*", message = "a path that starts with /")
        String path,

        @DefaultValue("2s") @DurationMin(millis = 100) @DurationMax(minutes = 10)
        Duration interval,

        @DefaultValue("1s") @DurationMin(millis = 10) @DurationMax(minutes = 1)
        Duration timeout,

        @DefaultValue("2") @Min(1) @Max(100) int healthyThreshold,
        @DefaultValue("3") @Min(1) @Max(100) int unhealthyThreshold,
        @Nullable Set<@Min(200) @Max(599) Integer> expectedStatuses) {

    private static final int FIRST_UNEXPECTED_STATUS = 400;

    /** Copies the set. */
    public HealthCheckProperties {
        expectedStatuses = expectedStatuses == null ? null : Set.copyOf(expectedStatuses);
    }

    /** Whether an answer with this status passes the check. */
    public boolean isExpected(int status) {
        return expectedStatuses == null ? status < FIRST_UNEXPECTED_STATUS : expectedStatuses.contains(status);
    }
}
