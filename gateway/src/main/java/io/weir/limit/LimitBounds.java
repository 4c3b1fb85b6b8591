package io.weir.limit;

/**
 * The bounds of an adaptive limit.
 *
 * @param min the smallest limit; 1 to {@code initial}; default 2
 * @param max the largest limit; {@code initial} to 1000000; default 1000
 * @param initial the limit before anything is measured; default 8
 */
public record LimitBounds(int min, int max, int initial) {

    /** The default: 2 to 1000, at first 8. */
    public static final LimitBounds DEFAULT = new LimitBounds(2, 1000, 8);

    /** Bounds in ascending order. */
    public LimitBounds {
        requireInRange("min", min, 1, QueueingBulkhead.LARGEST);
        requireInRange("initial", initial, min, QueueingBulkhead.LARGEST);
        requireInRange("max", max, initial, QueueingBulkhead.LARGEST);
    }

    private static void requireInRange(String name, int value, int smallest, int largest) {
        if (value < smallest || value > largest) {
            throw new IllegalArgumentException("%s: %d (expected: %d to %d)".formatted(name, value, smallest, largest));
        }
    }
}
