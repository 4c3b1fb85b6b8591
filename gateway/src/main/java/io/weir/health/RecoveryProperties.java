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
 * @param probe the requests that serve as probes: {@code shadow}, {@code caller}, {@code path} or {@code
 *     grpc-health}; {@code path} is implied by a {@code health-path}; default: shadow. A shadow probe is a
 *     copy of a caller's request and costs no caller anything.
 * @param probeInterval time between two probes, jittered by a tenth; 10ms to 1m. While a probe is unanswered,
 *     the next one follows after a quarter of {@code stall-duration} if that is longer.
 * @param maxProbes probes under way at once; 1 to 100. A backend that hangs holds each probe until the probe
 *     is given up.
 * @param maxPushback longest time for which an instance is left alone that asks for it, by the
 *     {@code Retry-After} of a 503 or 429 or by {@code grpc-retry-pushback-ms}: it gets no probes and no
 *     retries, and calls only where the other instances have their shares of the limit; 0 to 10m; 0: such
 *     answers have no effect. A good answer to a later call ends it, and a 429 of one caller alone does not
 *     begin it.
 * @param healthPath path that the gateway itself requests, by GET, in place of callers' requests; a status
 *     below 400 means healthy; starts with {@code /}; default: none.
 */
public record RecoveryProperties(
        @Nullable ProbeMode probe,

        @DefaultValue("100ms") @DurationMin(millis = 10) @DurationMax(minutes = 1)
        Duration probeInterval,

        @DefaultValue("5") @Min(1) @Max(100) int maxProbes,

        @DefaultValue("30s") @DurationMin @DurationMax(minutes = 10)
        Duration maxPushback,

        @Nullable @Pattern(regexp = "/[\\x21-\\x7e]*", message = "a path that starts with /")
        String healthPath) {

    /** The requests that serve as probes. */
    public ProbeMode probeMode() {
        if (probe != null) {
            return probe;
        }
        return healthPath == null ? ProbeMode.SHADOW : ProbeMode.PATH;
    }
}
