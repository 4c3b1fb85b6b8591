package io.weir.config;

import io.weir.accesslog.AccessLogProperties;
import io.weir.cluster.ClusterProperties;
import io.weir.drain.DrainProperties;
import io.weir.edge.EdgeProperties;
import io.weir.limit.LittlesLawProperties;
import io.weir.management.ManagementProperties;
import io.weir.overload.OverloadProperties;
import io.weir.tracing.TracingProperties;
import jakarta.validation.Valid;
import java.util.Map;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.NestedConfigurationProperty;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * {@code weir}: the whole of the gateway's own configuration.
 *
 * @param backends the backends, by name. A route reaches one by {@code uri: backend://<name>}.
 * @param routes what Weir does for single routes, by the route's id.
 * @param allowUnprotectedRoutes whether routes may have an {@code http://} URI, and so no compartment at all. Only for
 *     showing what happens without one.
 * @param edge limits on callers.
 * @param cluster how the gateways that share limits are counted.
 * @param overload when the gateway protects itself.
 * @param drain how the gateway stops.
 * @param accessLog a line of JSON per request.
 * @param tracing spans for OpenTelemetry.
 * @param littlesLaw the live figures of Little's law.
 * @param management who may use the management port.
 * @param reload how changes of the configuration's files are found.
 */
@Validated
@ConfigurationProperties("weir")
public record WeirProperties(
        @DefaultValue Map<String, @Valid BackendProperties> backends,
        @DefaultValue Map<String, @Valid RouteProperties> routes,
        @DefaultValue("false") boolean allowUnprotectedRoutes,
        @DefaultValue @Valid @NestedConfigurationProperty EdgeProperties edge,
        @DefaultValue @Valid @NestedConfigurationProperty ClusterProperties cluster,
        @DefaultValue @Valid @NestedConfigurationProperty OverloadProperties overload,
        @DefaultValue @Valid @NestedConfigurationProperty DrainProperties drain,
        @DefaultValue @Valid @NestedConfigurationProperty AccessLogProperties accessLog,
        @DefaultValue @Valid @NestedConfigurationProperty TracingProperties tracing,
        @DefaultValue @Valid @NestedConfigurationProperty LittlesLawProperties littlesLaw,
        @DefaultValue @Valid @NestedConfigurationProperty ManagementProperties management,
        @DefaultValue @Valid @NestedConfigurationProperty ReloadProperties reload) {

    /** Copies the maps. */
    public WeirProperties {
        backends = Map.copyOf(backends);
        routes = Map.copyOf(routes);
    }
}
