package io.weir.config;

import io.weir.access.AccessProperties;
import io.weir.authentication.RouteAuthenticationProperties;
import io.weir.authorization.AuthorizeProperties;
import io.weir.compression.CompressionProperties;
import io.weir.cors.CorsProperties;
import io.weir.engine.Mode;
import io.weir.fallback.FallbackProperties;
import io.weir.fallback.RouteAnswerProperties;
import io.weir.health.RouteProbeMode;
import io.weir.hedge.HedgeProperties;
import io.weir.instance.HashKey;
import io.weir.lastgood.LastGoodProperties;
import io.weir.limit.Priority;
import io.weir.ratelimit.MaxConcurrentPerKeyProperties;
import io.weir.ratelimit.RateLimitProperties;
import io.weir.retry.RetryProperties;
import jakarta.validation.Valid;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationPropertiesSource;
import org.springframework.boot.context.properties.NestedConfigurationProperty;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.routes.<id>}: settings of one route of Spring Cloud Gateway, in addition to those of its
 * backend. The route with this id must have a {@code backend://} URI.
 *
 * @param deadline time for an exchange; 1ms to 10m, at most the backend's; default: the backend's.
 * @param mode {@code request}: the deadline covers the whole exchange; {@code stream}: the deadline covers
 *     only the time until the head of the answer, and {@code stream-idle-timeout} the rest (SSE, WebSocket,
 *     long downloads).
 * @param maxConcurrentCalls maximum number of concurrent calls of this route, without a queue; 1 to 1000000,
 *     at most the backend's; default: none.
 * @param maxConcurrentCallsEnforce whether more calls than that are refused. If not, they are counted ({@code
 *     weir_would_refuse_total}).
 * @param maxConcurrentPerKey the calls that each caller may have under way at once; no limit unless
 *     configured.
 * @param access the callers that may use the route; anybody unless configured.
 * @param authentication the proof of identity that callers must have; none unless configured.
 * @param authorize the other backend that decides whether a request may use the route; off unless
 *     configured.
 * @param rateLimit the quota of requests for each caller; off unless configured.
 * @param retry retries of failed calls; off unless configured.
 * @param hedge a second attempt at another instance for a call whose answer is late; off unless configured.
 * @param fallback the answer in place of a refusal; off unless configured.
 * @param probe the use of this route's requests as probes of an open breaker; {@code shadow}: copies of them;
 *     {@code caller}: the requests themselves, where a request must not be repeated; default: the backend's.
 * @param priority the class of the route's calls, in the queue of the backend and while the gateway sheds:
 *     {@code critical} is served first and refused last, then {@code normal}, then {@code sheddable}.
 *     A trusted proxy can set another class for a request with {@code weir.edge.priority-header}.
 * @param guaranteedShare the part of the backend's limit that the calls of this route get before all other
 *     calls that wait, and that the others use while it is free; percent; 1 to 100, those of all routes of
 *     the backend together at most 100; default: none.
 * @param preservePath whether the backend sees the path as the caller has sent it, with empty segments,
 *     {@code .} segments and escapes; the route is still matched by the normalised path, and a path with
 *     {@code ..} is refused. Not allowed together with filters that change the path.
 * @param sticky the part of a request that determines its route within the group of the predicate
 *     {@code Weight}; {@code header:NAME}, {@code cookie:NAME} or {@code client-address} (of an IPv6 address,
 *     its /64 network); the same for all routes of a group; default: none, chance decides. Requests without
 *     the header or cookie are divided by chance.
 * @param cors the pages of other origins whose scripts may use the route; off unless configured.
 * @param compression gzip for answers; off unless configured.
 * @param answer the route's own answer to every request, such as during maintenance; off unless configured.
 * @param lastGood the newest good answer to the same request, in place of a failure; off unless configured.
 */
@ConfigurationPropertiesSource
public record RouteProperties(
        @Nullable @DurationMin(millis = 1) @DurationMax(minutes = 10)
        Duration deadline,

        @DefaultValue("request") Mode mode,
        @Nullable @Min(1) @Max(1_000_000) Integer maxConcurrentCalls,
        @DefaultValue("true") boolean maxConcurrentCallsEnforce,
        @Nullable @Valid @NestedConfigurationProperty MaxConcurrentPerKeyProperties maxConcurrentPerKey,
        @Nullable @Valid @NestedConfigurationProperty AccessProperties access,
        @Nullable @Valid @NestedConfigurationProperty RouteAuthenticationProperties authentication,
        @Nullable @Valid @NestedConfigurationProperty AuthorizeProperties authorize,
        @Nullable @Valid @NestedConfigurationProperty RateLimitProperties rateLimit,
        @Nullable @Valid @NestedConfigurationProperty RetryProperties retry,
        @Nullable @Valid @NestedConfigurationProperty HedgeProperties hedge,
        @Nullable @Valid @NestedConfigurationProperty FallbackProperties fallback,
        @Nullable RouteProbeMode probe,
        @DefaultValue("normal") Priority priority,
        @Nullable @Min(1) @Max(100) Integer guaranteedShare,
        @DefaultValue("false") boolean preservePath,

        @Nullable @Pattern(regexp = HashKey.PATTERN, message = HashKey.EXPECTED)
        String sticky,

        @Nullable @Valid @NestedConfigurationProperty CorsProperties cors,
        @Nullable @Valid @NestedConfigurationProperty CompressionProperties compression,
        @Nullable @Valid @NestedConfigurationProperty RouteAnswerProperties answer,
        @Nullable @Valid @NestedConfigurationProperty LastGoodProperties lastGood) {}
