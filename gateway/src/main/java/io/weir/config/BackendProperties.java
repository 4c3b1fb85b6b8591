package io.weir.config;

import io.weir.health.CircuitBreakerProperties;
import io.weir.health.RecoveryProperties;
import io.weir.instance.ConnectionProperties;
import io.weir.instance.UpstreamProtocol;
import io.weir.limit.BulkheadProperties;
import io.weir.retry.RetryBudgetProperties;
import jakarta.validation.Valid;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import java.net.URI;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.ConfigurationPropertiesSource;
import org.springframework.boot.context.properties.NestedConfigurationProperty;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.backends.<name>}: one backend and its compartment. A name is 1 to 63 of {@code a-z 0-9 -}, from a letter
 * to a letter or digit, since it is the host of {@code backend://<name>}.
 *
 * @param uri where the backend is: {@code http://host:port} or {@code https://host:port}, without a path. Required.
 * @param protocol {@code http1} or {@code h2} (over clear text with prior knowledge, over TLS by ALPN). HTTP/1.1 unless
 *     the backend needs streams, as gRPC does.
 * @param deadline time for an exchange, from the request's head to the answer's last byte; 1ms to 10m. Two seconds is
 *     longer than a page waits, and short enough that a hang does not collect callers.
 * @param deadlineEnforce whether the deadline, also a route's shorter one, ends an exchange. If not, an exchange that it would
 *     have ended is counted ({@code weir_would_refuse_total}) and goes on, for ten minutes at most or as long as the caller said.
 * @param bulkhead the cap on concurrent calls, and the queue in front of it.
 * @param maxStreams streams and WebSockets under way at once ({@code mode: stream}); 1 to 1000000. They are long, so
 *     they do not take the permits of calls.
 * @param streamIdleTimeout a stream in which nothing moves for this long ends; 100ms to 1d.
 * @param circuitBreaker when calls stop.
 * @param recovery how it is found that they may go on.
 * @param connection the backend's own pool.
 * @param retryBudget how many retries it bears.
 */
@ConfigurationPropertiesSource
public record BackendProperties(
        @NotNull URI uri,
        @DefaultValue("http1") UpstreamProtocol protocol,

        @DefaultValue("2s") @DurationMin(millis = 1) @DurationMax(minutes = 10)
        Duration deadline,

        @DefaultValue("true") boolean deadlineEnforce,

        @DefaultValue @Valid @NestedConfigurationProperty BulkheadProperties bulkhead,
        @DefaultValue("256") @Min(1) @Max(1_000_000) int maxStreams,

        @DefaultValue("60s") @DurationMin(millis = 100) @DurationMax(days = 1)
        Duration streamIdleTimeout,

        @DefaultValue @Valid @NestedConfigurationProperty CircuitBreakerProperties circuitBreaker,
        @DefaultValue @Valid @NestedConfigurationProperty RecoveryProperties recovery,
        @DefaultValue @Valid @NestedConfigurationProperty ConnectionProperties connection,
        @DefaultValue @Valid @NestedConfigurationProperty RetryBudgetProperties retryBudget) {}
