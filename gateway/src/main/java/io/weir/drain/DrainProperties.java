package io.weir.drain;

import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.drain}: how the gateway stops.
 *
 * @param delay for this long readiness is down while everything is still served, with {@code Connection: close}; 0 to
 *     5m. So that whoever balances load notices before anything is refused.
 * @param timeout after that new work is refused with {@code shutting-down}, and what is in flight has this long to
 *     end; 0 to 10m. Streams are closed at its start rather than holding the exit up.
 */
public record DrainProperties(
        @DefaultValue("5s") @DurationMin @DurationMax(minutes = 5)
        Duration delay,

        @DefaultValue("15s") @DurationMin @DurationMax(minutes = 10)
        Duration timeout) {}
