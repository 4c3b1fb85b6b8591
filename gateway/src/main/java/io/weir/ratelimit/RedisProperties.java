package io.weir.ratelimit;

import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.rate-limit.redis}: the Redis in which all gateways count together. A change needs a restart.
 *
 * @param uri {@code redis://[[user:]password@]host[:port][/database]}; with TLS {@code rediss://}, whose
 *     certificate must be one that Java trusts. Redis 5 or newer, or Valkey. With {@code cluster}, a comma
 *     separates further nodes ({@code redis://one:6379,two:6379}). Required.
 * @param cluster whether the URI names nodes of a Redis Cluster; any of them leads to the others. If a node
 *     does not answer, this gateway's own count decides for the keys of its slots alone.
 * @param timeout how long a request waits for the answer; 1ms to 1s. Then the gateway's own count decides.
 *     After five failures in a row no request waits, until Redis answers a probe in this time; there is one
 *     each second.
 * @param keyPrefix the beginning of each key; 1 to 64 characters of visible ASCII. Gateways with the same
 *     prefix share their quotas.
 */
public record RedisProperties(
        @NotNull
        @Pattern(
                regexp = "rediss?://(?:\\S*@)?" + RedisProperties.HOST + "(?:," + RedisProperties.HOST
                        + ")*(?:/\\d{1,4})?",
                message = "a URI that begins with redis:// or rediss://")
        String uri,

        @DefaultValue("false") boolean cluster,

        @DefaultValue("20ms") @DurationMin(millis = 1) @DurationMax(seconds = 1)
        Duration timeout,

        @DefaultValue("weir:rate-limit:")
        @Pattern(regexp = "[!-~]{1,64}", message = "1 to 64 characters of visible ASCII")
        String keyPrefix) {

    private static final String HOST = "(?:[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+])(?::\\d{1,5})?";
}
