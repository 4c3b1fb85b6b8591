package io.weir.reload;

import io.weir.config.check.ConfigurationDifference.ChangedValue;
import java.time.Instant;
import java.util.List;

/**
 * An applied or rejected change of the configuration.
 *
 * @param at the time of the change
 * @param trigger the kind of trigger
 * @param by the initiator: the file watch, or the address of the caller
 * @param differences the changed values; empty if the change was rejected
 * @param problems the reasons for the rejection, one line each; empty if the change was applied
 */
public record ConfigurationChange(
        Instant at, Trigger trigger, String by, List<ChangedValue> differences, List<String> problems) {

    /** The kind of trigger of a change. */
    public enum Trigger {
        /** The configuration's files changed. */
        WATCH,
        /** A caller requested a reload. */
        REQUEST,
        /**
         * An operator changed limits, which stay in force until they are released or their time to live is
         * over.
         */
        OPERATOR,
        /** The time to live of an operator's change is over. */
        EXPIRY;

        /** Whether the change is one of operators' values, and the files are as before. */
        boolean isOfOperators() {
            return this == OPERATOR || this == EXPIRY;
        }
    }

    /** Copies the lists. */
    public ConfigurationChange {
        differences = List.copyOf(differences);
        problems = List.copyOf(problems);
    }

    /** Whether the change is in force. */
    public boolean isApplied() {
        return problems.isEmpty();
    }
}
