package io.weir.limit;

/** How urgent a call is, most urgent first. A free permit goes to the most urgent waiting call. */
public enum Priority {
    /** Served first and evicted last. */
    CRITICAL,
    /** The default. */
    NORMAL,
    /** Served last and evicted first. */
    SHEDDABLE;

    /** The next lower priority, for a retry or fallback of a call; the lowest stays the lowest. */
    public Priority lower() {
        return this == CRITICAL ? NORMAL : SHEDDABLE;
    }
}
