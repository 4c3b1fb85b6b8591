package io.weir.sim.faults;

import java.time.Duration;
import org.springframework.boot.convert.DurationStyle;

/** Formats and parses durations such as {@code 250ms} and {@code 15s}. */
final class DurationFormat {

    private DurationFormat() {}

    /** The unit is required: readers disagree whether a bare number means seconds or milliseconds. */
    static Duration parse(String text) {
        if (text.isEmpty() || !Character.isLetter(text.charAt(text.length() - 1))) {
            throw new IllegalArgumentException("no unit: " + text);
        }
        return DurationStyle.SIMPLE.parse(text);
    }

    static String of(Duration duration) {
        long millis = duration.toMillis();
        return millis % 1000 == 0 ? millis / 1000 + "s" : millis + "ms";
    }
}
