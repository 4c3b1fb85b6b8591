package io.weir.cluster;

import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.cluster}: how the gateways that share a limit ({@code bulkhead.scope: cluster}) are counted.
 *
 * @param gateways DNS name with an address for each gateway, such as a headless service's; 1 to 253 characters; default:
 *     none. Without it no backend can have the scope {@code cluster}.
 * @param dnsServer DNS server that is asked, {@code address:port}; default: the machine's.
 * @param refreshInterval time between two counts; 100ms to 1m. Short enough to follow changes within seconds, and a light
 *     load for DNS.
 */
public record ClusterProperties(
        @Nullable @Size(min = 1, max = 253) String gateways,

        @Nullable @Pattern(regexp = "[0-9A-Fa-f.:\\[\\]]+:[0-9]{1,5}", message = "address:port")
        String dnsServer,

        @DefaultValue("2s") @DurationMin(millis = 100) @DurationMax(minutes = 1)
        Duration refreshInterval) {}
