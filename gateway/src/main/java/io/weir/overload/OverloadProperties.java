package io.weir.overload;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.overload}: when the gateway protects itself, and refuses requests with {@code
 * gateway-overloaded}. Critical requests are refused at a limit, normal ones from 95 % of it on, sheddable
 * ones from 80 % of it on.
 *
 * @param maxInFlight exchanges in the gateway at once, queued or dispatched, streams included; 1 to 10000000.
 *     Each backend has a part of it for itself ({@code guaranteed-share}); the priorities divide the rest.
 * @param targetEventLoopDelay delay of an event loop's iterations above which a growing share of the new
 *     requests on its connections is refused, sheddable ones first, critical ones last; the share rests where
 *     the delay is about the target; 1ms to 1m, at most {@code max-event-loop-delay}. It counts once it
 *     stands: each of the loop's iterations, at least three over one {@code interval}, was longer; a single
 *     pause does not count, and on Linux neither does the time for which the loop waits for a processor. The
 *     same value as {@code max-event-loop-delay} refuses nothing before that limit.
 * @param interval time for which a delay stands before it counts; 10ms to 10s, at most 100 times
 *     {@code target-event-loop-delay}. One interval above the target, everything but critical requests is
 *     refused.
 * @param maxEventLoopDelay standing delay of an event loop above which all requests on its connections are
 *     refused; 1ms to 1m. A quarter of a second is far from normal (well under a millisecond), and still
 *     short for a caller. While the JVM's compilers take a quarter of the processors, for at most a minute,
 *     the target is twice this limit, and the limit four times as high: such a delay ends by itself.
 * @param maxMemory share of direct or heap memory in use above which new requests are refused; percent; 10 to
 *     100.
 */
public record OverloadProperties(
        @DefaultValue("20000") @Min(1) @Max(10_000_000) int maxInFlight,

        @DefaultValue("10ms") @DurationMin(millis = 1) @DurationMax(minutes = 1)
        Duration targetEventLoopDelay,

        @DefaultValue("100ms") @DurationMin(millis = 10) @DurationMax(seconds = 10)
        Duration interval,

        @DefaultValue("250ms") @DurationMin(millis = 1) @DurationMax(minutes = 1)
        Duration maxEventLoopDelay,

        @DefaultValue("90") @Min(value = 10, message = PERCENT) @Max(value = 100, message = PERCENT)
        int maxMemory) {

    private static final String PERCENT = "10 to 100 percent";
}
