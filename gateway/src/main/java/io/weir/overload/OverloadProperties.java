package io.weir.overload;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.overload}: when the gateway protects itself, and refuses requests with {@code
 * gateway-overloaded}.
 *
 * @param maxInFlight exchanges in the gateway at once, queued or dispatched, streams included; 1 to 10000000.
 * @param maxEventLoopDelay standing delay of an event loop above which requests on its connections are
 *     refused; 1ms to 1m. A delay is standing if each of the loop's last iterations, at least three over at
 *     least 100 ms, was longer; a single pause is not. A quarter of a second is far from normal (well under a
 *     millisecond), and still short for a caller.
 * @param maxMemory share of direct or heap memory in use above which new requests are refused; percent; 10 to
 *     100.
 */
public record OverloadProperties(
        @DefaultValue("20000") @Min(1) @Max(10_000_000) int maxInFlight,

        @DefaultValue("250ms") @DurationMin(millis = 1) @DurationMax(minutes = 1)
        Duration maxEventLoopDelay,

        @DefaultValue("90") @Min(value = 10, message = PERCENT) @Max(value = 100, message = PERCENT)
        int maxMemory) {

    private static final String PERCENT = "10 to 100 percent";
}
