package io.weir.limit;

import jakarta.validation.valueextraction.ExtractedValue;
import jakarta.validation.valueextraction.UnwrapByDefault;
import jakarta.validation.valueextraction.ValueExtractor;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.convert.DurationStyle;

/**
 * A property that is a duration, or {@code auto}: the gateway then derives the duration. The binder of Spring
 * Boot converts text and numbers with {@code valueOf}.
 */
public final class DurationOrAuto {

    /** The gateway derives the duration. */
    public static final DurationOrAuto AUTO = new DurationOrAuto(null);

    private static final String AUTO_WORD = "auto";

    private final @Nullable Duration duration;

    private DurationOrAuto(@Nullable Duration duration) {
        this.duration = duration;
    }

    /** A duration. */
    public static DurationOrAuto of(Duration duration) {
        return new DurationOrAuto(duration);
    }

    /**
     * The property's text.
     *
     * @throws IllegalArgumentException if it is neither a duration nor {@code auto}
     */
    public static DurationOrAuto valueOf(String text) {
        String stripped = text.strip();
        return AUTO_WORD.equals(stripped) ? AUTO : of(DurationStyle.detectAndParse(stripped));
    }

    /** Milliseconds, as Spring Boot understands a number without a unit. */
    public static DurationOrAuto valueOf(Integer millis) {
        return of(Duration.ofMillis(millis));
    }

    /** Whether the gateway derives the duration. */
    public boolean isAuto() {
        return duration == null;
    }

    /** The duration; {@code other} for {@code auto}. */
    public Duration orElse(Duration other) {
        return duration == null ? other : duration;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof DurationOrAuto that
                && (duration == null ? that.duration == null : duration.equals(that.duration));
    }

    @Override
    public int hashCode() {
        return duration == null ? 0 : duration.hashCode();
    }

    @Override
    public String toString() {
        return duration == null ? AUTO_WORD : duration.toString();
    }

    /** Applies the constraints of durations; {@code auto} satisfies all of them. */
    @UnwrapByDefault
    public static final class Extractor
            implements ValueExtractor<@ExtractedValue(type = Duration.class) DurationOrAuto> {

        @Override
        public void extractValues(DurationOrAuto property, ValueReceiver receiver) {
            receiver.value(null, property.duration);
        }
    }
}
