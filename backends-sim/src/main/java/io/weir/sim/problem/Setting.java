package io.weir.sim.problem;

/** Checks of configuration, which all speak alike. */
public final class Setting {

    private Setting() {}

    /**
     * Refuses a value.
     *
     * @throws IllegalArgumentException that names the property, the value and what was expected
     */
    public static void require(boolean holds, String property, Object value, String expected) {
        if (!holds) {
            throw new IllegalArgumentException(property + ": " + value + " (expected: " + expected + ")");
        }
    }
}
