package io.weir.capacity;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.backends.<name>.capacity-signal.agent}: an agent beside each instance, as for HAProxy's {@code
 * agent-check}. The gateway connects to it at intervals and reads a line of words. Off unless configured.
 *
 * @param port TCP port of the agent at the address of the instance; 1 to 65535. Required.
 * @param interval time between two connections to an agent, jittered by a tenth, and the longest time until
 *     its line ends; 100ms to 5s. Each gateway asks by itself.
 */
public record AgentProperties(
        @NotNull @Min(1) @Max(65_535) Integer port,

        @DefaultValue("2s") @DurationMin(millis = 100) @DurationMax(seconds = 5)
        Duration interval) {}
