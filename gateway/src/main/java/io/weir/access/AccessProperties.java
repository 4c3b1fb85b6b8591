package io.weir.access;

import jakarta.validation.constraints.Size;
import java.util.List;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.routes.<id>.access}: the callers that may use a route, by address. Anybody unless configured.
 * Any other caller is refused with {@code forbidden} (403). Behind {@code edge.trusted-proxies}, the address
 * that the proxies report counts.
 *
 * @param allow networks (CIDRs) whose addresses may use the route; up to 1000; default: all.
 * @param deny networks (CIDRs) whose addresses may not, also if they are allowed; up to 1000; default: none.
 * @param enforce whether other callers are refused. If not, they are counted ({@code
 *     weir_would_refuse_total}).
 */
public record AccessProperties(
        @DefaultValue @Size(max = 1000) List<String> allow,
        @DefaultValue @Size(max = 1000) List<String> deny,
        @DefaultValue("true") boolean enforce) {

    /** Copies the lists. */
    public AccessProperties {
        allow = List.copyOf(allow);
        deny = List.copyOf(deny);
    }
}
