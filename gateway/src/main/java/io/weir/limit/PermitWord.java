package io.weir.limit;

/** Three counts in one word: waiters (24 bits), permits in use (20 bits) and their limit (20 bits). */
final class PermitWord {

    private static final int LIMIT_BITS = 20;
    private static final int IN_USE_BITS = 20;

    static final long LIMIT_MASK = (1L << LIMIT_BITS) - 1;
    static final long ONE_IN_USE = 1L << LIMIT_BITS;
    static final long ONE_QUEUED = 1L << (LIMIT_BITS + IN_USE_BITS);

    private PermitWord() {}

    static int limit(long word) {
        return (int) (word & LIMIT_MASK);
    }

    static int inUse(long word) {
        return (int) ((word & (ONE_QUEUED - 1)) >> LIMIT_BITS);
    }

    static int queued(long word) {
        return (int) (word >> (LIMIT_BITS + IN_USE_BITS));
    }
}
