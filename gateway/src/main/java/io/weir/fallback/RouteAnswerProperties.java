package io.weir.fallback;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.util.Map;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.routes.<id>.answer}: the route's own answer to every request, such as during maintenance. Off
 * unless configured. The backend is not asked while it is configured.
 *
 * @param status the answer's status; 200 to 599.
 * @param contentType the answer's {@code Content-Type}.
 * @param body the answer's body; at most 65536 characters; default: empty.
 * @param headers further headers of the answer, such as {@code Retry-After}; default: none.
 */
public record RouteAnswerProperties(
        @DefaultValue("503") @Min(200) @Max(599) int status,

        @DefaultValue("text/plain; charset=utf-8") @Pattern(regexp = FIELD_VALUE, message = FIELD_VALUE_EXPECTED)
        String contentType,

        @DefaultValue("") @Size(max = 65_536) String body,
        @DefaultValue Map<String, @Pattern(regexp = FIELD_VALUE, message = FIELD_VALUE_EXPECTED) String> headers) {

    /** The value of a header field, as a regular expression. */
    static final String FIELD_VALUE = "[^\\x00-\\x08\\x0a-\\x1f\\x7f]*";

    static final String FIELD_VALUE_EXPECTED = "text without control characters";

    /** Copies the map. */
    public RouteAnswerProperties {
        headers = Map.copyOf(headers);
    }

    /** The answer. */
    public StaticAnswer answer() {
        return new StaticAnswer(status, contentType, body, headers);
    }
}
