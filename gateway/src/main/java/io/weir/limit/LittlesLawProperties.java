package io.weir.limit;

import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.littles-law}: the live figures L = λ · W of each backend.
 *
 * @param window the time over which arrival rate and durations are averaged; 1s to 10m.
 */
public record LittlesLawProperties(
        @DefaultValue("10s") @DurationMin(seconds = 1) @DurationMax(minutes = 10)
        Duration window) {}
