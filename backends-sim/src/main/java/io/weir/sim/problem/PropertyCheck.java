package io.weir.sim.problem;

/** Checks configuration values with one form of error text. */
public final class PropertyCheck {

    private PropertyCheck() {}

    /**
     * Throws unless {@code holds}.
     *
     * @throws IllegalArgumentException that names the property, the value and the expectation
     */
    public static void require(boolean holds, String property, Object value, String expected) {
        if (!holds) {
            throw new IllegalArgumentException(property + ": " + value + " (expected: " + expected + ")");
        }
    }
}
