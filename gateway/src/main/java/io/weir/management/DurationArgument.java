package io.weir.management;

import java.time.Duration;
import org.springframework.boot.convert.DurationStyle;

/** A duration in the body of a request to an endpoint. It needs a unit, as in the configuration. */
final class DurationArgument {

    private DurationArgument() {}

    /**
     * The duration of a text such as {@code 30s}.
     *
     * @param name the member of the body
     * @throws IllegalArgumentException if the text is no duration with a unit; its message names the member
     */
    static Duration parse(String name, String text) {
        String expected = name + ": " + text + " (expected: a duration with a unit, such as 30s)";
        if (text.isEmpty() || Character.isDigit(text.charAt(text.length() - 1))) {
            throw new IllegalArgumentException(expected);
        }
        try {
            return DurationStyle.SIMPLE.parse(text);
        } catch (IllegalArgumentException | IllegalStateException | ArithmeticException e) {
            throw new IllegalArgumentException(expected, e);
        }
    }
}
