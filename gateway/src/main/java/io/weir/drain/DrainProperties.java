package io.weir.drain;

import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.drain}: how the gateway stops.
 *
 * @param delay time for which readiness fails while every request is still served, with
 *     {@code Connection: close}; 0 to 5m. It lets load balancers notice before any request is refused.
 * @param timeout time after the delay in which requests in flight may end, while new ones are refused with
 *     {@code shutting-down}; 0 to 10m. Streams are closed when it begins, so that they do not delay the exit.
 */
public record DrainProperties(
        @DefaultValue("5s") @DurationMin @DurationMax(minutes = 5)
        Duration delay,

        @DefaultValue("15s") @DurationMin @DurationMax(minutes = 10)
        Duration timeout) {}
