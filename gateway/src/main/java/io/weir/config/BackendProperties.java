package io.weir.config;

import io.weir.capacity.CapacitySignalProperties;
import io.weir.health.CircuitBreakerProperties;
import io.weir.health.HealthCheckProperties;
import io.weir.health.RecoveryProperties;
import io.weir.instance.ConnectionProperties;
import io.weir.instance.LoadBalancingProperties;
import io.weir.instance.UpstreamProtocol;
import io.weir.limit.BulkheadProperties;
import io.weir.limit.FairnessProperties;
import io.weir.retry.RetryBudgetProperties;
import jakarta.validation.Valid;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Size;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationPropertiesSource;
import org.springframework.boot.context.properties.NestedConfigurationProperty;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.backends.<name>}: a backend and its compartment. A name has 1 to 63 characters of
 * {@code a-z 0-9 -}, starts with a letter, and ends with a letter or digit, because it is the host of
 * {@code backend://<name>}.
 *
 * @param uri address of the backend: {@code http://host:port} or {@code https://host:port}, without a path.
 *     If the host is a name, each of its addresses in DNS is an instance, and the instances follow DNS; the
 *     requests and the check of the certificate use the name. Required, unless {@code instances} or {@code
 *     discovery} is set.
 * @param instances the addresses of a backend with several instances, in place of {@code uri}: a list of
 *     {@code uri}, {@code weight} and {@code backup}, 1 to 256 of them. A weight is 1 to 1000, by default 1.
 *     An instance that fails alone gets no calls until a probe is answered; the others serve its callers. An
 *     instance with {@code backup: true} gets calls only while no other one can take them; not all may be
 *     backups. Default: none.
 * @param discovery name of a service, in place of {@code uri}: its instances are the backend's. A name such
 *     as {@code _http._tcp.orders.example} is one of SRV records in DNS (RFC 2782), with ports and weights;
 *     the records of the lowest priority number are primaries, all others are backups; {@code _https} has
 *     TLS. Any other name is asked of Spring Cloud's discovery. The gateway has Spring's simple discovery
 *     client ({@code spring.cloud.discovery.client.simple.instances}); other clients are extensions. 1 to 253
 *     characters. Default: none.
 * @param resolveInterval time between two look-ups of the addresses, in DNS or the discovery; 100ms to 1h. A
 *     look-up that fails or finds no address keeps the known addresses. Short enough to follow a rolling
 *     restart, and a light load for DNS.
 * @param loadBalancing the division of the calls among the instances.
 * @param protocol protocol to the backend: {@code http1} or {@code h2} (HTTP/2 with prior knowledge over
 *     clear text, ALPN over TLS). HTTP/1.1 is sufficient unless the backend needs HTTP/2, as gRPC does.
 * @param deadline time for an exchange, from the request's head to the last byte of the answer; 1ms to 10m.
 *     Two seconds are longer than a user waits for a page, and short enough that few callers accumulate if
 *     the backend hangs.
 * @param deadlineEnforce whether the deadline of the backend or route ends an exchange. If false, the gateway
 *     only counts the exchanges that would have ended ({@code weir_would_refuse_total}); these end after ten
 *     minutes, or at the caller's own deadline.
 * @param bulkhead the limit on concurrent calls, and its queue.
 * @param capacitySignal the capacity that the backend states in its answers; default: none.
 * @param fairness fair shares for the tenants of the backend's calls.
 * @param maxStreams maximum number of concurrent streams ({@code mode: stream}) and WebSockets; 1 to 1000000.
 *     Streams last long, so they have a limit of their own and use no permits of calls. A request for a
 *     WebSocket is also a call, with a permit, until the backend has opened the WebSocket.
 * @param guaranteedShare share of the gateway's {@code overload.max-in-flight} that only exchanges of this
 *     backend's routes can use; percent; 0 to 100, those of all backends together at most 100; default: an
 *     equal part of a tenth of the rest. At least 4 places each, while those are at most a quarter of the
 *     rest; none if the gateway has one backend. What no backend is guaranteed, all use as they come. So
 *     backends that hang cannot fill the gateway, and the callers of the others are still served.
 * @param streamIdleTimeout time after which a stream without any traffic ends; 100ms to 1d.
 * @param circuitBreaker the circuit breaker, which stops calls to a failing backend.
 * @param recovery the probes that detect the recovery of the backend.
 * @param healthCheck the health checks of the instances; default: none.
 * @param connection the backend's own connection pool.
 * @param retryBudget the limit on retries.
 */
@ConfigurationPropertiesSource
public record BackendProperties(
        @Nullable URI uri,
        @Nullable @Valid List<InstanceProperties> instances,
        @Nullable @Size(min = 1, max = 253) String discovery,

        @DefaultValue("5s") @DurationMin(millis = 100) @DurationMax(hours = 1)
        Duration resolveInterval,

        @DefaultValue @Valid @NestedConfigurationProperty LoadBalancingProperties loadBalancing,
        @DefaultValue("http1") UpstreamProtocol protocol,

        @DefaultValue("2s") @DurationMin(millis = 1) @DurationMax(minutes = 10)
        Duration deadline,

        @DefaultValue("true") boolean deadlineEnforce,

        @DefaultValue @Valid @NestedConfigurationProperty BulkheadProperties bulkhead,
        @Nullable @Valid @NestedConfigurationProperty CapacitySignalProperties capacitySignal,
        @DefaultValue @Valid @NestedConfigurationProperty FairnessProperties fairness,
        @DefaultValue("256") @Min(1) @Max(1_000_000) int maxStreams,

        @Nullable @Min(value = 0, message = PERCENT) @Max(value = 100, message = PERCENT)
        Integer guaranteedShare,

        @DefaultValue("60s") @DurationMin(millis = 100) @DurationMax(days = 1)
        Duration streamIdleTimeout,

        @DefaultValue @Valid @NestedConfigurationProperty CircuitBreakerProperties circuitBreaker,
        @DefaultValue @Valid @NestedConfigurationProperty RecoveryProperties recovery,
        @Nullable @Valid @NestedConfigurationProperty HealthCheckProperties healthCheck,
        @DefaultValue @Valid @NestedConfigurationProperty ConnectionProperties connection,
        @DefaultValue @Valid @NestedConfigurationProperty RetryBudgetProperties retryBudget) {

    private static final String PERCENT = "0 to 100 percent";

    /** A copy of the list, so that the record is immutable. */
    public BackendProperties {
        instances = instances == null ? null : List.copyOf(instances);
    }

    /** The configured instances, also of a backend with one address; empty with a discovery. */
    public List<InstanceProperties> addresses() {
        if (instances != null) {
            return instances;
        }
        return uri == null ? List.of() : List.of(new InstanceProperties(uri, 1, false));
    }
}
