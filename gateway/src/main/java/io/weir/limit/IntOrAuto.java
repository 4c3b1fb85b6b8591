package io.weir.limit;

import jakarta.validation.valueextraction.ExtractedValue;
import jakarta.validation.valueextraction.UnwrapByDefault;
import jakarta.validation.valueextraction.ValueExtractor;
import org.jspecify.annotations.Nullable;

/**
 * A property that is a whole number, or {@code auto}: the gateway then finds the number. The binder of Spring
 * Boot converts text and numbers with {@code valueOf}.
 */
public final class IntOrAuto {

    /** The gateway finds the number. */
    public static final IntOrAuto AUTO = new IntOrAuto(null);

    private static final String AUTO_WORD = "auto";

    private final @Nullable Integer number;

    private IntOrAuto(@Nullable Integer number) {
        this.number = number;
    }

    /** A number. */
    public static IntOrAuto of(int number) {
        return new IntOrAuto(number);
    }

    /**
     * The property's text.
     *
     * @throws IllegalArgumentException if it is neither a whole number nor {@code auto}
     */
    public static IntOrAuto valueOf(String text) {
        String stripped = text.strip();
        return AUTO_WORD.equals(stripped) ? AUTO : of(Integer.parseInt(stripped));
    }

    /** A number as YAML has it. */
    public static IntOrAuto valueOf(Integer number) {
        return of(number);
    }

    /** Whether the gateway finds the number. */
    public boolean isAuto() {
        return number == null;
    }

    /** The number; {@code other} for {@code auto}. */
    public int orElse(int other) {
        return number == null ? other : number;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof IntOrAuto that && (number == null ? that.number == null : number.equals(that.number));
    }

    @Override
    public int hashCode() {
        return number == null ? 0 : number.hashCode();
    }

    @Override
    public String toString() {
        return number == null ? AUTO_WORD : number.toString();
    }

    /** Applies the constraints of numbers; {@code auto} satisfies all of them. */
    @UnwrapByDefault
    public static final class Extractor implements ValueExtractor<@ExtractedValue(type = Integer.class) IntOrAuto> {

        @Override
        public void extractValues(IntOrAuto property, ValueReceiver receiver) {
            receiver.value(null, property.number);
        }
    }
}
