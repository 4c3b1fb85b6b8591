package io.weir.sim.stack;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** A start that cannot go on, with what the user can do about it: printed without a stack trace. */
public final class StartProblem extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final String action;

    public StartProblem(String description, String action, @Nullable Throwable cause) {
        super(description, cause);
        this.action = action;
    }

    /** Prints it in Spring Boot's words. */
    static final class Analyzer extends AbstractFailureAnalyzer<StartProblem> {

        @Override
        protected FailureAnalysis analyze(Throwable rootFailure, StartProblem cause) {
            return new FailureAnalysis(String.valueOf(cause.getMessage()), cause.action, cause);
        }
    }
}
