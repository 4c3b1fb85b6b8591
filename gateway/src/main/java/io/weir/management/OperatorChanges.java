package io.weir.management;

import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * An operator's hand on what is in force. What is changed holds from the next request on and until the configuration
 * is reloaded from its files, and is logged with who asked for it.
 */
public interface OperatorChanges {

    /**
     * Changes limits of a backend, all of them or none.
     *
     * @param backend its name
     * @param limits new values, as they would be written in YAML, by the names of the properties below the backend:
     *     {@code bulkhead.max-concurrent-calls}; those of the bulkhead also without {@code bulkhead.}
     * @param by who asks: an address
     */
    Answer change(String backend, Map<String, String> limits, String by);

    /**
     * Does something to a part of what is in force, while nothing else is put in its place: what is done to a breaker is done to the one
     * that its successor takes its state from, or to that.
     *
     * @return what it has returned
     */
    <T> T undisturbed(Supplier<T> action);

    /**
     * What became of it.
     *
     * @param changes what is different now, a line for each value; empty if nothing is
     * @param problems why nothing was changed, a line for each; empty if all was
     */
    record Answer(List<String> changes, List<String> problems) {

        /** Copies the lists. */
        public Answer {
            changes = List.copyOf(changes);
            problems = List.copyOf(problems);
        }

        /** Whether all of it holds now. */
        public boolean isOk() {
            return problems.isEmpty();
        }
    }
}
