package io.weir.cors;

import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.time.Duration;
import java.util.List;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.routes.<id>.cors}: the pages of other origins whose scripts may use a route (CORS). Off unless
 * configured: preflight requests and the backend's own CORS fields are then passed on. Where it is
 * configured, the gateway answers preflight requests, and its fields replace the backend's.
 *
 * @param allowedOrigins origins such as {@code https://shop.example}, compared as a whole; {@code *}: all;
 *     {@code null}: pages without an origin, such as local files; up to 1000; default: none. At least one
 *     origin or pattern is needed.
 * @param allowedOriginPatterns origins in which {@code *} stands for any text, also with credentials, such as
 *     {@code https://*.shop.example}; up to 1000; default: none.
 * @param allowedMethods methods; {@code *}: all; up to 100.
 * @param allowedHeaders names of request fields beyond those that every page may set; {@code *}: all; up to
 *     1000; default: none.
 * @param exposedHeaders names of response fields that scripts may read beyond the usual ones; {@code *}: all;
 *     up to 1000; default: none.
 * @param allowCredentials whether requests may carry cookies and HTTP authentication. Not together with
 *     {@code *} in {@code allowed-origins} or {@code exposed-headers}.
 * @param maxAge time for which a browser may keep the answer to a preflight request; 0 to 1d; browsers have
 *     limits of their own (Chrome: 2h).
 */
public record CorsProperties(
        @DefaultValue @Size(max = 1000)
        List<
                        @Pattern(
                                regexp = ORIGIN,
                                message =
                                        "an origin such as https://shop.example, or *; patterns in allowed-origin-patterns")
                        String>
                allowedOrigins,

        @DefaultValue @Size(max = 1000)
        List<@Pattern(regexp = ORIGIN_PATTERN, message = "a pattern of origins such as https://*.shop.example") String>
                allowedOriginPatterns,

        @DefaultValue({"GET", "HEAD", "POST"}) @Size(max = 100)
        List<@Pattern(regexp = TOKEN, message = "the name of a method, or *") String> allowedMethods,

        @DefaultValue @Size(max = 1000) List<@Pattern(regexp = TOKEN, message = FIELDS) String> allowedHeaders,
        @DefaultValue @Size(max = 1000) List<@Pattern(regexp = TOKEN, message = FIELDS) String> exposedHeaders,
        @DefaultValue("false") boolean allowCredentials,

        @DefaultValue("30m") @DurationMin(seconds = 0) @DurationMax(days = 1)
        Duration maxAge) {

    private static final String ORIGIN = "\\*|null|[A-Za-z][A-Za-z0-9+.-]*://[^/\\s?#@*]+";
    private static final String ORIGIN_PATTERN = "\\*|[A-Za-z*][A-Za-z0-9+.*-]*://[^/\\s?#@]+";
    private static final String TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
    private static final String FIELDS = "the name of a header field, or *";

    /** Copies the lists. */
    public CorsProperties {
        allowedOrigins = List.copyOf(allowedOrigins);
        allowedOriginPatterns = List.copyOf(allowedOriginPatterns);
        allowedMethods = List.copyOf(allowedMethods);
        allowedHeaders = List.copyOf(allowedHeaders);
        exposedHeaders = List.copyOf(exposedHeaders);
    }
}
