package io.weir.management;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Changes of the configuration in force by an operator. A change applies from the next request on, until it
 * is released, or until its time to live is over. A reload of the files keeps it, unless its backend is gone
 * or it is invalid together with the files. It is logged with the operator's address.
 */
public interface OperatorChanges {

    /**
     * Changes limits of a backend, all of them or none.
     *
     * @param backend the backend's name
     * @param limits new values, as in YAML, by the names of properties below the backend, such as {@code
     *     bulkhead.max-concurrent-calls}; the prefix {@code bulkhead.} may be left out
     * @param by the operator's address
     * @param lasting the time after which the values of the files apply again; null: when they are released
     */
    Answer change(String backend, Map<String, String> limits, String by, @Nullable Duration lasting);

    /** Ends all changes of limits of a backend: the values of the files apply again. */
    Answer release(String backend, String by);

    /**
     * Runs an action while no configuration is being applied, so that it changes a backend in force and not
     * one that is being removed.
     */
    void withoutReload(Runnable action);

    /**
     * The result of a change.
     *
     * @param changes the changed values, one line for each; empty if none
     * @param problems the reasons why nothing was changed, one line for each; empty if the change was applied
     */
    record Answer(List<String> changes, List<String> problems) {

        /** Copies the lists. */
        public Answer {
            changes = List.copyOf(changes);
            problems = List.copyOf(problems);
        }

        /** Whether the change was applied. */
        public boolean isOk() {
            return problems.isEmpty();
        }
    }
}
