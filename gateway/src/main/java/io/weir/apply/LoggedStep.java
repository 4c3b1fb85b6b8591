package io.weir.apply;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A step that cannot be taken back. */
final class LoggedStep {

    private static final Logger log = LoggerFactory.getLogger(LoggedStep.class);

    private LoggedStep() {}

    /**
     * Runs a step after the point of no return: logs its failure, even an {@link Error}, so that the
     * remaining steps still run.
     *
     * @param description the step, as a participle phrase for the log
     */
    static void run(String description, Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error e) {
            log.error("Configuration applied, but {} failed", description, e);
        }
    }
}
