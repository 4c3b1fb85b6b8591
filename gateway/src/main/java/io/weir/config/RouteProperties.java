package io.weir.config;

import io.weir.engine.Mode;
import io.weir.fallback.FallbackProperties;
import io.weir.retry.RetryProperties;
import jakarta.validation.Valid;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationPropertiesSource;
import org.springframework.boot.context.properties.NestedConfigurationProperty;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.routes.<id>}: what Weir does for one of Spring Cloud Gateway's routes beyond its backend's own. The id
 * is that of a route whose URI is {@code backend://}.
 *
 * @param deadline time for an exchange; 1ms to 10m, at most the backend's; default: the backend's.
 * @param mode {@code request}: the deadline spans the whole exchange; {@code stream}: it spans the head of the answer,
 *     and {@code stream-idle-timeout} the rest (SSE, long downloads, WebSocket).
 * @param maxConcurrentCalls the route's own, tighter cap on concurrent calls, without a queue; 1 to 1000000, at most the
 *     backend's; default: none.
 * @param retry a second chance; off unless written.
 * @param fallback what a caller gets instead of a refusal; off unless written.
 */
@ConfigurationPropertiesSource
public record RouteProperties(
        @Nullable @DurationMin(millis = 1) @DurationMax(minutes = 10)
        Duration deadline,

        @DefaultValue("request") Mode mode,
        @Nullable @Min(1) @Max(1_000_000) Integer maxConcurrentCalls,
        @Nullable @Valid @NestedConfigurationProperty RetryProperties retry,
        @Nullable @Valid @NestedConfigurationProperty FallbackProperties fallback) {}
