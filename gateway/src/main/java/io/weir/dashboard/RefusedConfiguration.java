package io.weir.dashboard;

import java.time.Instant;
import java.util.List;

/**
 * A configuration in the files that was refused; the previous one stays in force.
 *
 * @param at when the files were read
 * @param by the cause of the reload: the file watch, or the address of an operator
 * @param problems all problems of the configuration, one line for each
 */
public record RefusedConfiguration(Instant at, String by, List<String> problems) {

    /** Copies the list. */
    public RefusedConfiguration {
        problems = List.copyOf(problems);
    }
}
