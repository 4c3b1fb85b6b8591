package io.weir.management;

import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.management}: access to the management port.
 *
 * @param token bearer token that permits reads and changes; the audit names its holder "operator"; 16
 *     to 1024 characters; default: none. A token is required if the port listens on another address than
 *     loopback. If any token is configured, every request needs one, except health probes.
 * @param readOnlyToken bearer token that permits reads only, for Prometheus and dashboards; 16 to 1024
 *     characters; default: none.
 * @param operators further bearer tokens that permit reads and changes, by the names that the audit shows;
 *     each 16 to 1024 characters; default: none.
 * @param allowedHosts host names by which clients may address the port, without a port; {@code *.example.com}
 *     means every name below; IP addresses and {@code localhost} are always allowed; default: none. Any other
 *     name is refused with 421, since an attacker's DNS name can point to this machine (DNS rebinding).
 */
public record ManagementProperties(
        @Nullable @Size(min = 16, max = 1024) String token,
        @Nullable @Size(min = 16, max = 1024) String readOnlyToken,
        @DefaultValue Map<String, @Size(min = 16, max = 1024) String> operators,

        @DefaultValue
        List<
                        @Pattern(
                                regexp = "(\\*\\.)?[A-Za-z0-9_-]{1,63}(\\.[A-Za-z0-9_-]{1,63})*",
                                message = "a host name, or *. and a name, without a port")
                        String>
                allowedHosts) {

    /** Copies the map and the list. */
    public ManagementProperties {
        operators = Map.copyOf(operators);
        allowedHosts = List.copyOf(allowedHosts);
    }
}
