package io.weir.capacity;

import jakarta.validation.Valid;
import jakarta.validation.constraints.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.NestedConfigurationProperty;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.backends.<name>.capacity-signal}: the backend states how many calls it takes at once. Off
 * unless configured; {@code capacity-signal: { header: weir-capacity }} switches it on. It needs {@code
 * max-concurrent-calls: auto}.
 *
 * @param header field of the answers to calls, health checks and probes that states the capacity of the
 *     instance for this gateway: a whole number from 0 to 1000000, or a load report of ORCA
 *     ({@code endpoint-load-metrics}) as {@code TEXT} or {@code JSON}; the name of a header field. For ten
 *     seconds after it was last stated it is the limit in place of the one that {@code auto} has found,
 *     within {@code bulkhead.limit}. Of several instances, each states its own part. A number that is not
 *     whole, a 0 for longer than ten seconds, and a change by a factor of 100 or more are ignored and
 *     counted. Of a load report, the {@code application_utilization}, or else the {@code cpu_utilization},
 *     lowers the limit where it is above 1, and never raises it above the one that {@code auto} has found.
 *     Callers do not see the field.
 * @param agent the agents of the instances; default: none.
 */
public record CapacitySignalProperties(
        @DefaultValue("weir-capacity")
        @Pattern(regexp = "[!#$%&'*+.^_`|~0-9A-Za-z-]+", message = "the name of a header field")
        String header,

        @Nullable @Valid @NestedConfigurationProperty AgentProperties agent) {}
