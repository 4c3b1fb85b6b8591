package io.weir.perf.simulation;

import java.time.Duration;

/**
 * A period in which a fixed number of callers send requests. They arrive within its first second; in its last
 * two seconds they stop and receive their last answers.
 *
 * @param length whole seconds
 * @param once each caller sends one request at the beginning; otherwise it sends the next one after each
 *     answer
 */
record CallerRound(String name, String path, int callers, Duration length, boolean once) {

    private static final Duration LAST_ANSWERS = Duration.ofSeconds(2);

    /** Parses {@code NAME|PATH|CALLERS|SECONDS|ONCE}. */
    static CallerRound parse(String text) {
        String[] parts = text.split("\\|", -1);
        return new CallerRound(
                parts[0],
                parts[1],
                Integer.parseInt(parts[2]),
                Duration.ofSeconds(Long.parseLong(parts[3])),
                Boolean.parseBoolean(parts[4]));
    }

    /** How long a caller sends requests. */
    Duration requestPeriod() {
        return length.minus(LAST_ANSWERS);
    }
}
