package io.weir.limit;

/** A limit that is a number in the configuration. It learns nothing. */
public record FixedLimit(int value) implements Limit {

    /** A limit of at least 1. */
    public FixedLimit {
        if (value < 1) {
            throw new IllegalArgumentException("max-concurrent-calls: %d (expected: at least 1)".formatted(value));
        }
    }

    @Override
    public int started(long nowNanos, int inUse) {
        return 0;
    }

    @Override
    public void ended(long nowNanos, int mark, long latencyNanos, Evidence evidence, int inUse) {}

    @Override
    public Beliefs beliefs() {
        return new Beliefs(value, 0, 0, 0, Change.FIXED, 0, 0);
    }

    /** A change of the configuration replaces the limit. */
    @Override
    public long changes(Change reason) {
        return 0;
    }
}
