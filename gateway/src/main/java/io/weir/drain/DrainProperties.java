package io.weir.drain;

import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.drain}: how the gateway stops.
 *
 * @param delay for this long readiness fails while everything is still served, with {@code Connection:
 *     close}; 0 to 5m. It gives load balancers time to notice before anything is refused.
 * @param timeout after the delay new work is refused with {@code shutting-down}, and work in flight has this
 *     long to end; 0 to 10m. Streams are closed at its start, so that they do not delay the exit.
 */
public record DrainProperties(
        @DefaultValue("5s") @DurationMin @DurationMax(minutes = 5)
        Duration delay,

        @DefaultValue("15s") @DurationMin @DurationMax(minutes = 10)
        Duration timeout) {}
