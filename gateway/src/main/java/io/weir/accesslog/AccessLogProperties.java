package io.weir.accesslog;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.access-log}: one line of JSON for each request.
 *
 * @param enabled whether the access log is written.
 * @param file file to append to; default: standard output.
 * @param queueCapacity maximum number of lines that wait to be written; 16 to 10000000. A line that finds the
 *     queue full is dropped and counted ({@code weir_access_log_dropped_total}): an exchange never waits for
 *     a disk.
 * @param exclude the members that a line does not have, such as {@code client}, {@code user-agent}; default:
 *     none.
 * @param requestHeaders names of the request's fields that a line has, too: {@code X-Tenant} becomes
 *     {@code header_x_tenant}, and a value is truncated after 256 characters; at most 32 names of letters,
 *     digits and {@code -}, but not {@code Authorization} and {@code Cookie}; default: none.
 */
public record AccessLogProperties(
        @DefaultValue("true") boolean enabled,
        @Nullable String file,
        @DefaultValue("65536") @Min(16) @Max(10_000_000) int queueCapacity,
        @DefaultValue Set<LogField> exclude,

        @DefaultValue @Size(max = 32) Set<@Pattern(regexp = HEADER, message = HEADER_EXPECTED) String> requestHeaders) {

    private static final String HEADER = "(?i)(?!(?:proxy-)?authorization$|cookie$)[a-z0-9-]{1,64}";
    private static final String HEADER_EXPECTED =
            "a field's name such as X-Tenant, of letters, digits and -; not one that holds secrets";

    /** Copies the collections. */
    public AccessLogProperties {
        exclude = Set.copyOf(exclude);
        requestHeaders = Set.copyOf(requestHeaders);
    }
}
