package io.weir.ratelimit;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.routes.<id>.rate-limit}: a quota of requests for each caller of a route, as a token bucket. Off
 * unless configured. Each gateway counts by itself unless {@code shared}. A request over the quota is refused
 * with {@code rate-limited} (429).
 *
 * @param key the callers that share a quota; {@code client-address}: each address, behind
 *     {@code edge.trusted-proxies} the one that the proxies report, and each IPv6 network of 64 bits;
 *     {@code header:NAME}: each value of a header field, and all requests together in which the field is
 *     missing, empty or repeated; {@code claim:NAME}: each value of a claim of the verified token, apart for
 *     each issuer, and all requests together whose token has no such claim or a list in it (a dot leads to a
 *     nested claim; only with {@code authentication.issuers}); {@code route}: all callers of the route.
 * @param permits requests for each {@code period} in the long run; 1 to 1000000. Required.
 * @param period the time in which {@code permits} requests are allowed; 1s to 1d. Permits return evenly: with
 *     60 in 1m, one each second.
 * @param burst requests that are allowed at once after a pause; 1 to 1000000; default: {@code permits}.
 * @param maxKeys keys that are remembered at once; 1000 to 10000000. Beyond it, the keys that were not used
 *     for longest are forgotten and have their whole {@code burst} again; no caller is refused for it. An
 *     address takes about 300 bytes of memory.
 * @param enforce whether requests over the quota are refused. If not, they are counted
 *     ({@code weir_would_refuse_total}), and answers do not tell the quota.
 * @param shared whether all gateways count together, in {@code weir.rate-limit.redis}. While Redis does not
 *     answer, each gateway counts by itself.
 */
public record RateLimitProperties(
        @DefaultValue("client-address") @Pattern(regexp = RateLimitKey.PATTERN, message = RateLimitKey.EXPECTED)
        String key,

        @NotNull @Min(1) @Max(1_000_000) Integer permits,

        @DefaultValue("1s") @DurationMin(seconds = 1) @DurationMax(days = 1)
        Duration period,

        @Nullable @Min(1) @Max(1_000_000) Integer burst,
        @DefaultValue("100000") @Min(1_000) @Max(10_000_000) int maxKeys,
        @DefaultValue("true") boolean enforce,
        @DefaultValue("false") boolean shared) {

    /** The prefix of a key that is a claim of the caller's verified token. */
    public static final String CLAIM = "claim:";

    /** The configured {@code burst}, or its default. */
    public int burstOrDefault() {
        return burst == null ? permits : burst;
    }
}
