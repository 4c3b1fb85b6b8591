package io.weir.authorization;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.time.Duration;
import java.util.List;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * {@code weir.routes.<id>.authorize.cache}: an answer of the authorizer serves further requests for a while.
 * Off unless configured. Answers with 2xx, 401 and 403 are kept, unless they have {@code Set-Cookie} or
 * {@code Cache-Control: no-store}. A reload forgets them.
 *
 * @param keyHeaders the fields of {@code headers-in} that tell callers apart; 1 to 16 names. A request
 *     without any of them is asked about each time.
 * @param maxAge time for which an answer serves; 100ms to 1h. For so long, a caller keeps a right that it has
 *     lost.
 * @param anyRequest whether an answer serves all requests of the route with the same values of {@code
 *     key-headers}; if not, only those with the same method, scheme, host, path and query, and from the same
 *     address.
 * @param memory limit on the heap for the answers of the route; 64KB to 1GB.
 */
public record AuthorizationCacheProperties(
        @DefaultValue({"authorization", "cookie"}) @Size(max = 16)
        List<@Pattern(regexp = AuthorizeProperties.NAME, message = AuthorizeProperties.NAME_EXPECTED) String>
                keyHeaders,

        @DefaultValue("10s") @DurationMin(millis = 100) @DurationMax(hours = 1)
        Duration maxAge,

        @DefaultValue("false") boolean anyRequest,
        @DefaultValue("4MB") @Min(64 << 10) @Max(1 << 30) DataSize memory) {

    /** Writes the names in lower case. */
    public AuthorizationCacheProperties {
        keyHeaders = AuthorizeProperties.lowerCase(keyHeaders);
    }
}
