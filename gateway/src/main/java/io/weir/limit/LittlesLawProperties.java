package io.weir.limit;

import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.littles-law}: the live figures L = λ · W of each backend, and the limit that they suggest.
 *
 * @param window the time over which arrival rate and durations are averaged; 1s to 10m.
 * @param headroom factor on λ times the uncongested service time in the suggested limit; 1 to 10. Arrivals
 *     come in bursts; with a factor of 1, half of them would wait.
 */
public record LittlesLawProperties(
        @DefaultValue("10s") @DurationMin(seconds = 1) @DurationMax(minutes = 10)
        Duration window,

        @DefaultValue("1.5") @DecimalMin("1") @DecimalMax("10")
        double headroom) {}
