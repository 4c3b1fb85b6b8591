package io.weir.config.check;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** Names the jar of an extension whose beans have prevented the start. */
@Order(Ordered.HIGHEST_PRECEDENCE)
final class ExtensionFailureAnalyzer implements FailureAnalyzer {

    @Override
    public @Nullable FailureAnalysis analyze(Throwable failure) {
        ExtensionJars extensions = ExtensionJars.installed();
        return extensions.fileOf(failure).isEmpty()
                ? null
                : new FailureAnalysis(
                        extensions.problem(failure).toString(),
                        "Remove the jar, or replace it by one that fits this gateway.",
                        failure);
    }
}
