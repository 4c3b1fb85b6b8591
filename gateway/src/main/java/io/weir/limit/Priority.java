package io.weir.limit;

import java.util.Locale;

/**
 * The priority of a call, the highest first. A free permit goes to the waiting call of the highest priority.
 */
public enum Priority {
    /** Served first and evicted last. */
    CRITICAL(0),
    /** The default. */
    NORMAL(1),
    /** Served last and evicted first. */
    SHEDDABLE(2);

    private final int rank;
    private final String word = name().toLowerCase(Locale.ROOT);

    Priority(int rank) {
        this.rank = rank;
    }

    /** The position among the priorities: 0 is the highest. */
    public int rank() {
        return rank;
    }

    /** The word for the priority in the configuration, header fields, the access log and metrics. */
    public String word() {
        return word;
    }

    /** The next lower priority, for a retry or fallback of a call; the lowest stays the lowest. */
    public Priority lower() {
        return this == CRITICAL ? NORMAL : SHEDDABLE;
    }
}
