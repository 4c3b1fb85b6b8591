package io.weir.testing;

import java.util.List;

/**
 * The tier of this run of the tests. The quick tier is the default; {@code -Pfull} runs the full one, in
 * which the same tests have more seeds, exchanges or doors.
 */
public final class Tier {

    private static final boolean IS_FULL = Boolean.getBoolean("full");

    private Tier() {}

    /** Whether the full tier runs. */
    public static boolean isFull() {
        return IS_FULL;
    }

    /** The doors of a test with many cases for each door: only the compiled one in the quick tier. */
    public static List<Door> doors() {
        return IS_FULL ? List.of(Door.values()) : List.of(Door.COMPILED);
    }

    /** A number that depends on the tier, such as the number of seeds. */
    public static int choose(int quick, int full) {
        return IS_FULL ? full : quick;
    }
}
