package io.weir.reload;

import org.jspecify.annotations.Nullable;

/**
 * A value that is not what it was; secrets are masked.
 *
 * @param path the property
 * @param before what it was; null: it was not written
 * @param after what it is; null: it is not written any more
 */
public record Difference(
        String path, @Nullable String before, @Nullable String after) {

    /** {@code weir.backends.orders.deadline: 800ms -> 1s}. */
    @Override
    public String toString() {
        return path + ": " + shown(before) + " -> " + shown(after);
    }

    private static String shown(@Nullable String value) {
        return value == null ? "(default)" : value;
    }
}
