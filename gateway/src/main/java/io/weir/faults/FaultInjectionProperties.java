package io.weir.faults;

import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.faults}: faults that operators inject into calls, for chaos experiments.
 *
 * @param enabled whether {@code POST /actuator/weirfaults} starts faults; otherwise it answers 403. An
 *     operator can then fail the calls of any backend, for a bounded time.
 * @param maxDuration the longest time for which a fault may be asked; 1s to 1h. It then heals by itself.
 */
public record FaultInjectionProperties(
        @DefaultValue("false") boolean enabled,

        @DefaultValue("10m") @DurationMin(seconds = 1) @DurationMax(hours = 1)
        Duration maxDuration) {}
