package io.weir.reload;

import java.time.Instant;
import java.util.List;

/**
 * A change of the configuration, or an attempt at one.
 *
 * @param at when
 * @param trigger what brought it about
 * @param by who: the watch, or the address of who asked
 * @param differences what is different since; empty if it was refused
 * @param problems why it was refused, a line for each; empty if it was not
 */
public record ConfigurationChange(Instant at, Trigger trigger, String by, List<Difference> differences, List<String> problems) {

    /** What brings a change about. */
    public enum Trigger {
        /** The files have changed. */
        WATCH,
        /** Somebody asked for the files to be read. */
        REQUEST,
        /** An operator changed limits, until the next reload. */
        OPERATOR
    }

    /** Copies the lists. */
    public ConfigurationChange {
        differences = List.copyOf(differences);
        problems = List.copyOf(problems);
    }

    /** Whether it holds. */
    public boolean isApplied() {
        return problems.isEmpty();
    }
}
