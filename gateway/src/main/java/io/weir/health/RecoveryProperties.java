package io.weir.health;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.backends.<name>.recovery}: how the gateway detects that a backend has recovered while its
 * breaker is open.
 *
 * @param probeInterval time between two probes, jittered by a tenth; 10ms to 1m. A quarter of a second is
 *     soon enough for users and a negligible load for any backend.
 * @param maxProbes probes under way at once; 1 to 100. A backend that hangs holds each probe until the
 *     deadline.
 * @param healthPath path that the gateway itself requests, by GET, instead of probing with callers' requests;
 *     a status below 400 means healthy; starts with {@code /}; default: none, callers' requests are the
 *     probes.
 */
public record RecoveryProperties(
        @DefaultValue("230ms") @DurationMin(millis = 10) @DurationMax(minutes = 1)
        Duration probeInterval,

        @DefaultValue("5") @Min(1) @Max(100) int maxProbes,

        @Nullable @Pattern(regexp = "/[\\x21-\\x7e]*", message = "a path that starts with /")
        String healthPath) {}
