package io.weir.ratelimit;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.routes.<id>.max-concurrent-per-key}: the calls that each caller of a route may have under way
 * at once, waiting for a permit or in the backend. Off unless configured. One more is refused with {@code
 * bulkhead-full} (503). Each gateway counts by itself.
 *
 * @param key the callers that are told apart, as for {@code rate-limit}: {@code client-address}, {@code
 *     header:NAME}, {@code claim:NAME} (only with {@code authentication.issuers}) or {@code route}. Requests
 *     without the header or claim count together.
 * @param calls calls of one caller at once, streams and WebSockets included; 1 to 1000000. Required.
 * @param enforce whether more calls are refused. If not, they are counted ({@code weir_would_refuse_total}).
 */
public record MaxConcurrentPerKeyProperties(
        @DefaultValue("client-address") @Pattern(regexp = RateLimitKey.PATTERN, message = RateLimitKey.EXPECTED)
        String key,

        @NotNull @Min(1) @Max(1_000_000) Integer calls,
        @DefaultValue("true") boolean enforce) {}
