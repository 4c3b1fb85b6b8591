package io.weir.dashboard;

import java.time.Instant;
import java.util.List;

/**
 * What is written in the configuration's files and is not in force, since it is not sound.
 *
 * @param at when it was read
 * @param by who had it read: the watch, or the address of who asked
 * @param problems all that is wrong with it, a line for each
 */
public record RefusedFile(Instant at, String by, List<String> problems) {

    /** Copies the list. */
    public RefusedFile {
        problems = List.copyOf(problems);
    }
}
