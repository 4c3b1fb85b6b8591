package io.weir.sim.stack;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * A failure to start that the user can correct; printed with the corrective action and without a stack trace.
 */
public final class StartupException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final String action;

    public StartupException(String description, String action, @Nullable Throwable cause) {
        super(description, cause);
        this.action = action;
    }

    /** Prints it as a Spring Boot failure analysis. */
    static final class Analyzer extends AbstractFailureAnalyzer<StartupException> {

        @Override
        protected FailureAnalysis analyze(Throwable rootFailure, StartupException cause) {
            return new FailureAnalysis(String.valueOf(cause.getMessage()), cause.action, cause);
        }
    }
}
