package io.weir.sim.problem;

import java.time.Duration;

/** Durations in query parameters: whole milliseconds within a range, or a 400 that says so. */
public final class Milliseconds {

    /** Longer than any deadline in front of a simulated service, short enough that a slip does not hold threads for ever. */
    public static final int MAX = 600_000;

    private Milliseconds() {}

    /** Reads {@code value} of the parameter {@code name}: 0 to {@link #MAX}. */
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

    private static Refusal refusal(String name, String value) {
        return Refusal.badRequest(name + ": " + value + " (expected: whole milliseconds from 0 to " + MAX + ")");
    }
}
