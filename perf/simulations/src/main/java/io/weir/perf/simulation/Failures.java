package io.weir.perf.simulation;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import java.util.Locale;

/**
 * Why a request got no answer, from Gatling's log.
 *
 * <p>Concurrency: Gatling logs a failure on the thread that then runs the virtual user's next step, so what a thread has heard last is what the step after a failed
 * request is about.
 */
public final class Failures extends UnsynchronizedAppenderBase<ILoggingEvent> {

    private static final ThreadLocal<String> LAST = ThreadLocal.withInitial(() -> "");

    /** For logback. */
    public Failures() {}

    @Override
    protected void append(ILoggingEvent event) {
        String message = event.getFormattedMessage();
        // A second message is the whole exchange.
        if (message.startsWith("Request '")) {
            LAST.set(message);
        }
    }

    /** The outcome that the last failure on this thread was, and forgets it. */
    static String take() {
        String message = LAST.get();
        LAST.remove();
        return outcome(message);
    }

    /** By what follows the request's name, which may be a fault's. */
    static String outcome(String message) {
        String lower = message.substring(message.indexOf("' failed") + 1).toLowerCase(Locale.ROOT);
        if (lower.contains("timeout") || lower.contains("timed out")) {
            return lower.contains("connect") && !lower.contains("request timeout") ? "connect-timeout" : "timeout";
        }
        if (lower.contains("refused") || lower.contains("connectexception") || lower.contains("bindexception")) {
            return "connect-failed";
        }
        if (lower.contains("reset")
                || lower.contains("premature")
                || lower.contains("closed")
                || lower.contains("broken pipe")) {
            return "reset";
        }
        return "failed";
    }
}
