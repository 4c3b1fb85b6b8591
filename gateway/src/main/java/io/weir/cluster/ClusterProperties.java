package io.weir.cluster;

import io.netty.util.NetUtil;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Size;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.cluster}: how the gateways that share a limit ({@code bulkhead.scope: cluster}) are counted,
 * and found for the fleet ({@code /actuator/weirfleet}).
 *
 * @param gateways DNS name with an address for each gateway, such as a headless service's; 1 to 253
 *     characters; default: none. Without it no backend can have the scope {@code cluster}.
 * @param dnsServer DNS server to query, {@code address:port}, an IPv6 address in brackets; default: the
 *     machine's.
 * @param refreshInterval time between two counts; 100ms to 1m. Short enough to follow changes within seconds,
 *     and a light load for DNS.
 * @param initialGateways number of gateways that is assumed from the start until DNS answers for the first
 *     time; 1 to 10000. Ten, so that gateways that start while DNS is down do not get the whole limit each.
 * @param fleet whether this gateway asks the others for {@code /actuator/weirfleet}, and passes on changes
 *     for all gateways. It sends the token of the request to each address of {@code gateways}.
 */
public record ClusterProperties(
        @Nullable @Size(min = 1, max = 253) String gateways,

        @Nullable String dnsServer,

        @DefaultValue("2s") @DurationMin(millis = 100) @DurationMax(minutes = 1)
        Duration refreshInterval,

        @DefaultValue("10") @Min(1) @Max(10_000) int initialGateways,

        @DefaultValue("true") boolean fleet) {

    private static final int LAST_PORT = 65_535;

    /**
     * The socket address of a DNS server.
     *
     * @param dnsServer {@code address:port}
     * @throws IllegalArgumentException if it is malformed; the message has the value and the expected form
     */
    public static InetSocketAddress address(String dnsServer) {
        int colon = dnsServer.lastIndexOf(':');
        String host = dnsServer.substring(0, Math.max(colon, 0));
        String digits = dnsServer.substring(colon + 1);
        int port = digits.matches("[0-9]{1,5}") ? Integer.parseInt(digits) : 0;
        // Without brackets the end of an IPv6 address would be mistaken for a port.
        boolean isWhole = host.startsWith("[") == host.contains(":") && !host.contains("%");
        InetAddress address = isWhole ? NetUtil.createInetAddressFromIpAddressString(host) : null;
        if (address == null || port < 1 || port > LAST_PORT) {
            throw new IllegalArgumentException("dns-server: " + dnsServer
                    + " (expected: an address and a port from 1 to 65535, such as 127.0.0.1:53 or [::1]:53)");
        }
        return new InetSocketAddress(address, port);
    }
}
