package io.weir.authorization;

import jakarta.validation.Valid;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.NestedConfigurationProperty;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.routes.<id>.authorize}: another backend, the authorizer, decides whether a request may use the
 * route. Off unless configured.
 *
 * <p>It gets a GET without a body, with {@code headers-in}, {@code X-Forwarded-Method}, {@code
 * X-Forwarded-Uri}, {@code X-Forwarded-Host}, {@code X-Forwarded-Proto} and {@code X-Forwarded-For}. A status
 * of 2xx allows the request. An answer with 3xx or 4xx goes to the caller; of a body beyond 64 KB only the
 * head.
 *
 * @param backend the name of the backend that decides, another one than the route's. Required.
 * @param path path and query of the request to the authorizer; at most 1024 characters.
 * @param headersIn fields of the request that the authorizer gets; up to 32 names.
 * @param headersOut fields of the authorizer's answer that the route's backend gets; up to 32 names. Fields
 *     of the caller with these names are removed.
 * @param onFailure what happens while the authorizer fails: no answer in time, 5xx, open breaker, full
 *     bulkhead; {@code refuse}: the request is refused; {@code pass}: it goes on to the backend without
 *     {@code headers-out}.
 * @param cache the use of an answer for further requests; off unless configured.
 */
public record AuthorizeProperties(
        @NotNull String backend,

        @DefaultValue("/") @Pattern(regexp = "/[!-\"$-~]{0,1023}", message = "a path such as /verify")
        String path,

        @DefaultValue({"authorization", "cookie", "accept"}) @Size(max = 32)
        List<@Pattern(regexp = NAME, message = NAME_EXPECTED) String> headersIn,

        @DefaultValue @Size(max = 32) List<@Pattern(regexp = NAME, message = NAME_EXPECTED) String> headersOut,

        @DefaultValue("refuse") OnFailure onFailure,
        @Nullable @Valid @NestedConfigurationProperty AuthorizationCacheProperties cache) {

    /** The name of a header field, as a regular expression. */
    static final String NAME = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";

    static final String NAME_EXPECTED = "the name of a header field";

    /** Writes the names in lower case. */
    public AuthorizeProperties {
        headersIn = lowerCase(headersIn);
        headersOut = lowerCase(headersOut);
    }

    static List<String> lowerCase(List<String> names) {
        return names.stream()
                .map(name -> name.toLowerCase(Locale.ROOT))
                .distinct()
                .toList();
    }
}
