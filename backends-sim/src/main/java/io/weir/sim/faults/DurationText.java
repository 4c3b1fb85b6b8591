package io.weir.sim.faults;

import java.time.Duration;
import org.springframework.boot.convert.DurationStyle;

/** Durations as people write them: {@code 250ms}, {@code 15s}. */
final class DurationText {

    private DurationText() {}

    /** A unit must be there: a bare number is read as seconds by one and as milliseconds by the next. */
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
