package io.weir.sim.problem;

import java.time.Duration;

/** Parses durations in query parameters: whole milliseconds within a range; other values are answered 400. */
public final class MillisecondsParameter {

    /**
     * Longer than any deadline of a gateway in front, and short enough that a mistake does not hold threads
     * for long.
     */
    public static final int MAX = 600_000;

    private MillisecondsParameter() {}

    /** Parses {@code value} of the parameter {@code name}: 0 to {@link #MAX}. */
    public static Duration parse(String name, String value) {
        try {
            int millis = Integer.parseInt(value);
            if (millis >= 0 && millis <= MAX) {
                return Duration.ofMillis(millis);
            }
        } catch (NumberFormatException e) {
            throw refusal(name, value);
        }
        throw refusal(name, value);
    }

    private static ProblemException refusal(String name, String value) {
        return ProblemException.badRequest(
                name + ": " + value + " (expected: whole milliseconds from 0 to " + MAX + ")");
    }
}
