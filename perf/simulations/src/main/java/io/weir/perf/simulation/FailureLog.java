package io.weir.perf.simulation;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * Reads from Gatling's log why a request got no answer.
 *
 * <p>Concurrency: Gatling logs a failure on the thread that then runs the user's next step. So the last
 * message of a thread belongs to the request before that step.
 */
public final class FailureLog extends UnsynchronizedAppenderBase<ILoggingEvent> {

    private static final ThreadLocal<String> LAST = ThreadLocal.withInitial(() -> "");

    public FailureLog() {}

    @Override
    protected void append(ILoggingEvent event) {
        String message = event.getFormattedMessage();
        // A second message contains the whole exchange.
        if (message.startsWith("Request '")) {
            LAST.set(message);
        }
    }

    static String takeOutcome() {
        String message = LAST.get();
        LAST.remove();
        return outcome(message);
    }

    /** Classifies a message without the name of the request, which may contain the name of a fault. */
    static String outcome(String message) {
        String text = message.substring(message.indexOf("' failed") + 1).toLowerCase(Locale.ROOT);
        if (containsAny(text, "timeout", "timed out")) {
            return text.contains("connect") && !text.contains("request timeout") ? "connect-timeout" : "timeout";
        }
        if (containsAny(text, "refused", "connectexception", "bindexception")) {
            return "connect-failed";
        }
        return containsAny(text, "reset", "premature", "closed", "broken pipe") ? "reset" : "failed";
    }

    private static boolean containsAny(String text, String... words) {
        return Stream.of(words).anyMatch(text::contains);
    }
}
