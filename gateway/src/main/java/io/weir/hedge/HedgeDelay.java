package io.weir.hedge;

import jakarta.validation.valueextraction.ExtractedValue;
import jakarta.validation.valueextraction.UnwrapByDefault;
import jakarta.validation.valueextraction.ValueExtractor;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.convert.DurationStyle;

/**
 * The property {@code after}: a duration, or {@code p95}, which the gateway learns from the route's answers.
 * The binder of Spring Boot converts text and numbers with {@code valueOf}.
 */
public final class HedgeDelay {

    /** The time within which 95 % of the route's answers have begun. */
    public static final HedgeDelay P95 = new HedgeDelay(null);

    private static final String P95_WORD = "p95";

    private final @Nullable Duration duration;

    private HedgeDelay(@Nullable Duration duration) {
        this.duration = duration;
    }

    /** A duration. */
    public static HedgeDelay of(Duration duration) {
        return new HedgeDelay(duration);
    }

    /**
     * The property's text.
     *
     * @throws IllegalArgumentException if it is neither a duration nor {@code p95}
     */
    public static HedgeDelay valueOf(String text) {
        String stripped = text.strip();
        return P95_WORD.equals(stripped) ? P95 : of(DurationStyle.detectAndParse(stripped));
    }

    /** Milliseconds, as Spring Boot understands a number without a unit. */
    public static HedgeDelay valueOf(Integer millis) {
        return of(Duration.ofMillis(millis));
    }

    /** The duration; null: it is learnt. */
    public @Nullable Duration duration() {
        return duration;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof HedgeDelay that
                && (duration == null ? that.duration == null : duration.equals(that.duration));
    }

    @Override
    public int hashCode() {
        return duration == null ? 0 : duration.hashCode();
    }

    @Override
    public String toString() {
        return duration == null ? P95_WORD : duration.toString();
    }

    /** Applies the constraints of durations; {@code p95} satisfies all of them. */
    @UnwrapByDefault
    public static final class Extractor implements ValueExtractor<@ExtractedValue(type = Duration.class) HedgeDelay> {

        @Override
        public void extractValues(HedgeDelay property, ValueReceiver receiver) {
            receiver.value(null, property.duration);
        }
    }
}
