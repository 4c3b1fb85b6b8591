package io.weir.retry;

import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.backends.<name>.retry-budget}: the retries that a backend may receive, over all its routes.
 * They include the second attempts of requests that were not sent, on routes without {@code retry}. A caller
 * who needs more retries than the others leaves them half of what is saved up.
 *
 * @param share retries as a share of the first attempts; percent; 0 to 100. At 20 a failing backend receives
 *     at most a fifth more load, not a multiple.
 * @param floor retries per second that are always allowed; 0 to 1000. They make retries possible for a
 *     backend with little traffic.
 */
public record RetryBudgetProperties(
        @DefaultValue("20") @DecimalMin(value = "0", message = PERCENT) @DecimalMax(value = "100", message = PERCENT)
        float share,

        @DefaultValue("3") @Min(0) @Max(1000) int floor) {

    private static final String PERCENT = "0 to 100 percent";
}
