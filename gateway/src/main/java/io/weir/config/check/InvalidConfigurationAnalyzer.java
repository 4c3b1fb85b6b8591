package io.weir.config.check;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Logs the problems of a configuration without a stack trace. */
final class InvalidConfigurationAnalyzer extends AbstractFailureAnalyzer<InvalidConfigurationException> {

    @Override
    protected FailureAnalysis analyze(Throwable failure, InvalidConfigurationException cause) {
        return new FailureAnalysis(
                "The configuration has changed since its check, and is invalid:\n" + cause.getMessage(),
                "Correct the configuration; --validate checks it without a start.",
                cause);
    }
}
