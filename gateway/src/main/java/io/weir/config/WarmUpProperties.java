package io.weir.config;

import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;

/**
 * {@code weir.warm-up}: the calls that the gateway makes to itself before it is ready, so that its first
 * callers meet compiled code.
 *
 * @param maxDuration longest time for which readiness waits for the warm-up; 0 to 5m; 0: there is none;
 *     default: 20s, with an AOT cache 5s. The warm-up ends earlier once the JVM has compiled what these calls
 *     need.
 */
public record WarmUpProperties(
        @Nullable @DurationMin @DurationMax(minutes = 5) Duration maxDuration) {}
