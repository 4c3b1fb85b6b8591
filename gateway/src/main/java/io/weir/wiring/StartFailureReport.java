package io.weir.wiring;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalysisReporter;

/**
 * Logs in one line why a start failed. {@code application.yml} switches Spring Boot's own reporter off, which
 * logs a banner of a dozen lines.
 */
final class StartFailureReport implements FailureAnalysisReporter {

    private static final Logger log = LoggerFactory.getLogger(StartFailureReport.class);

    @Override
    public void report(FailureAnalysis analysis) {
        log.debug("The start failed", analysis.getCause());
        log.error("The start failed: {}{}", oneLine(analysis.getDescription()), action(analysis));
    }

    private static String action(FailureAnalysis analysis) {
        String action = analysis.getAction();
        return action == null || action.isBlank() ? "" : " " + oneLine(action);
    }

    private static String oneLine(String text) {
        return text.strip().replaceAll("\\s*\\R\\s*", " ");
    }
}
