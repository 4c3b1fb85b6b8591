package io.weir.fallback;

import io.weir.outcome.Reason;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.routes.<id>.fallback}: the replacement of a refusal. Off unless configured. Either a static
 * answer ({@code status}, {@code body}, ...) or another {@code backend}, not both.
 *
 * @param backend the name of another backend that is called while time is left before the deadline; default:
 *     none.
 * @param status the static answer's status; 200 to 599.
 * @param contentType the static answer's {@code Content-Type}; default: {@code application/json}.
 * @param body the static answer's body; at most 65536 characters; default: empty.
 * @param headers further headers of the static answer; default: none.
 * @param reasons the reasons for which the fallback is used; default: all reasons that a backend causes. At
 *     the deadline a static answer is used, and no other backend is called.
 * @param maxConcurrentCalls fallbacks under way at once; 1 to 1000000. Without a limit of its own, a fallback
 *     would spread one backend's overload to the next.
 */
public record FallbackProperties(
        @Nullable String backend,
        @DefaultValue("200") @Min(200) @Max(599) int status,

        @DefaultValue("application/json")
        @Pattern(regexp = RouteAnswerProperties.FIELD_VALUE, message = RouteAnswerProperties.FIELD_VALUE_EXPECTED)
        String contentType,

        @DefaultValue("") @Size(max = 65_536) String body,

        @DefaultValue
        Map<
                        String,
                        @Pattern(
                                regexp = RouteAnswerProperties.FIELD_VALUE,
                                message = RouteAnswerProperties.FIELD_VALUE_EXPECTED)
                        String>
                headers,

        @DefaultValue({
            "circuit-open",
            "bulkhead-full",
            "queue-timeout",
            "queue-evicted",
            "deadline-exceeded",
            "connect-timeout",
            "connect-failed",
            "connection-lost"
        })
        Set<Reason> reasons,

        @DefaultValue("64") @Min(1) @Max(1_000_000) int maxConcurrentCalls) {

    /** Copies the collections. */
    public FallbackProperties {
        headers = Map.copyOf(headers);
        reasons = Set.copyOf(reasons);
    }
}
