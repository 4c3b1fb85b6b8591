package io.weir.lastgood;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * {@code weir.routes.<id>.last-good}: the newest good answer to the same request, in place of a failure. Off
 * unless configured; {@code last-good: { max-age: 10m }} switches it on. Not for {@code mode: stream}.
 *
 * <p>Kept are answers with status 200 to GET and HEAD that RFC 9111 permits a shared cache to keep. An
 * answer is used where the gateway would refuse because of the backend, or where the backend answers with a
 * status from 500 to 599, and never otherwise.
 *
 * @param maxAge time after its arrival for which an answer is used; 1s to 7d. {@code Cache-Control} of the
 *     answer ({@code must-revalidate}, {@code stale-if-error}, ...) can shorten it.
 * @param maxAnswer larger bodies are not kept; 1KB to 8MB.
 * @param keyHeaders request fields that select the answer, besides the fields that {@code Vary} names; up to
 *     16 names. If {@code cookie} or {@code authorization} is among them, each value has answers of its own;
 *     otherwise answers to requests with such a field are kept only if they say {@code public}.
 */
public record LastGoodProperties(
        @DefaultValue("10m") @DurationMin(seconds = 1) @DurationMax(days = 7)
        Duration maxAge,

        @DefaultValue("64KB") @Min(1 << 10) @Max(8 << 20) DataSize maxAnswer,

        @DefaultValue @Size(max = 16)
        List<@Pattern(regexp = "[!#$%&'*+.^_`|~0-9A-Za-z-]+", message = "the name of a header field") String>
                keyHeaders) {

    /** Writes the names in lower case. */
    public LastGoodProperties {
        keyHeaders = keyHeaders.stream()
                .map(name -> name.toLowerCase(Locale.ROOT))
                .distinct()
                .sorted()
                .toList();
    }
}
