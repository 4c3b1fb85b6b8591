package io.weir.config;

import io.weir.accesslog.AccessLogProperties;
import io.weir.authentication.AuthenticationProperties;
import io.weir.cluster.ClusterProperties;
import io.weir.drain.DrainProperties;
import io.weir.edge.EdgeProperties;
import io.weir.errorpage.ErrorsProperties;
import io.weir.faults.FaultInjectionProperties;
import io.weir.lastgood.LastGoodMemoryProperties;
import io.weir.limit.LittlesLawProperties;
import io.weir.management.ManagementProperties;
import io.weir.overload.OverloadProperties;
import io.weir.ratelimit.SharedRateLimitProperties;
import io.weir.tracing.TracingProperties;
import jakarta.validation.Valid;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.NestedConfigurationProperty;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * {@code weir}: all properties of the gateway.
 *
 * @param backends the backends, by name. A route refers to a backend with {@code uri: backend://<name>}.
 * @param dnsServer DNS server for the names of backends, {@code address:port}, an IPv6 address in brackets;
 *     default: the machine's. The machine's hosts file and search domains apply in any case.
 * @param routes settings of single routes, by the route's id.
 * @param allowUnprotectedRoutes whether routes may use {@code http://} URIs, which bypass all backend
 *     protections; for demonstrations only.
 * @param authentication the issuers of tokens that routes can require, and the fields for backends.
 * @param edge limits for callers.
 * @param errors the gateway's own answers to callers that ask for HTML.
 * @param rateLimit the counter that all gateways share, for rate limits of routes.
 * @param lastGood the store of the last good answers of all routes.
 * @param cluster the discovery of the gateways that share limits.
 * @param overload the limits above which the gateway sheds load to protect itself.
 * @param warmUp the calls that the gateway makes to itself before it is ready.
 * @param drain the shutdown of the gateway.
 * @param accessLog the access log, one line of JSON per request.
 * @param tracing the export of OpenTelemetry spans.
 * @param littlesLaw the live figures of Little's law.
 * @param management the protection of the management port.
 * @param reload the detection of changed configuration files.
 * @param faults the faults that operators inject for chaos experiments.
 */
@Validated
@ConfigurationProperties("weir")
public record WeirProperties(
        @DefaultValue Map<String, @Valid BackendProperties> backends,
        @Nullable String dnsServer,
        @DefaultValue Map<String, @Valid RouteProperties> routes,
        @DefaultValue("false") boolean allowUnprotectedRoutes,
        @DefaultValue @Valid @NestedConfigurationProperty AuthenticationProperties authentication,
        @DefaultValue @Valid @NestedConfigurationProperty EdgeProperties edge,
        @DefaultValue @Valid @NestedConfigurationProperty ErrorsProperties errors,
        @DefaultValue @Valid @NestedConfigurationProperty SharedRateLimitProperties rateLimit,
        @DefaultValue @Valid @NestedConfigurationProperty LastGoodMemoryProperties lastGood,
        @DefaultValue @Valid @NestedConfigurationProperty ClusterProperties cluster,
        @DefaultValue @Valid @NestedConfigurationProperty OverloadProperties overload,
        @DefaultValue @Valid @NestedConfigurationProperty WarmUpProperties warmUp,
        @DefaultValue @Valid @NestedConfigurationProperty DrainProperties drain,
        @DefaultValue @Valid @NestedConfigurationProperty AccessLogProperties accessLog,
        @DefaultValue @Valid @NestedConfigurationProperty TracingProperties tracing,
        @DefaultValue @Valid @NestedConfigurationProperty LittlesLawProperties littlesLaw,
        @DefaultValue @Valid @NestedConfigurationProperty ManagementProperties management,
        @DefaultValue @Valid @NestedConfigurationProperty ReloadProperties reload,
        @DefaultValue @Valid @NestedConfigurationProperty FaultInjectionProperties faults) {

    /** Copies the maps. */
    public WeirProperties {
        backends = Map.copyOf(backends);
        routes = Map.copyOf(routes);
    }
}
