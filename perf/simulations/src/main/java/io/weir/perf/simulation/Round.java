package io.weir.perf.simulation;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A stretch of time in which a fixed number of callers ask. They come within its first second; in its last two they cease, and their last answers come.
 *
 * @param name what it is called in Gatling's report
 * @param path what they ask for
 * @param callers how many there are
 * @param length from its beginning to the next one's; whole seconds
 * @param once whether each asks once, all of them at the beginning; otherwise each asks again as soon as it is answered
 */
record Round(String name, String path, int callers, Duration length, boolean once) {

    private static final Duration CEASING = Duration.ofSeconds(2);

    /** From {@code NAME|PATH|CALLERS|SECONDS|ONCE}, parted by semicolons. */
    static List<Round> parse(String text) {
        List<Round> rounds = new ArrayList<>();
        for (String round : text.split(";", -1)) {
            String[] parts = round.split("\\|", -1);
            rounds.add(new Round(
                    parts[0],
                    parts[1],
                    Integer.parseInt(parts[2]),
                    Duration.ofSeconds(Long.parseLong(parts[3])),
                    Boolean.parseBoolean(parts[4])));
        }
        return List.copyOf(rounds);
    }

    /** For how long a caller goes on asking. */
    Duration asking() {
        return length.minus(CEASING);
    }

    boolean isWarmUp() {
        return name.equals("warm-up");
    }
}
