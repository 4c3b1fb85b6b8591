package io.weir.outcome;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A log of errors that callers can cause as often as they like: at most one line per second. The next line
 * tells the number of omitted ones.
 */
// Concurrency: the thread that moves `nextAtNanos` writes the line. A line that is omitted at the same moment
// is counted for this line or for the next one; benign.
public final class ThrottledLog {

    private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long UNUSED = Long.MIN_VALUE;

    private final Logger log;
    private final AtomicLong nextAtNanos = new AtomicLong(UNUSED);
    private final AtomicLong omitted = new AtomicLong();

    private ThrottledLog(Logger log) {
        this.log = log;
    }

    /** The log of a class. */
    public static ThrottledLog of(Class<?> owner) {
        return new ThrottledLog(LoggerFactory.getLogger(owner));
    }

    /** Logs an error with its stack trace, or counts it as omitted. */
    public void error(long nowNanos, String message, Throwable failure) {
        if (isDue(nowNanos)) {
            log.error(withOmitted(message), failure);
        }
    }

    /** Logs a warning without a stack trace, or counts it as omitted. */
    public void warn(long nowNanos, Supplier<String> message) {
        if (isDue(nowNanos)) {
            log.warn(withOmitted(message.get()));
        }
    }

    /** Whether a line is due now; counts it as omitted otherwise. */
    private boolean isDue(long nowNanos) {
        long nextAt = nextAtNanos.get();
        boolean isDue = nextAt == UNUSED || nowNanos - nextAt >= 0;
        if (!isDue || !nextAtNanos.compareAndSet(nextAt, nowNanos + INTERVAL_NANOS)) {
            omitted.incrementAndGet();
            return false;
        }
        return true;
    }

    private String withOmitted(String message) {
        long before = omitted.getAndSet(0);
        return before == 0 ? message : message + " (" + before + " more like it were not logged)";
    }

    /** Whether {@link #debug} logs. */
    public boolean isDebugEnabled() {
        return log.isDebugEnabled();
    }

    /** Logs a caller's fault: one line without a stack trace, and only at debug. */
    public void debug(String message, Object first, Object second) {
        log.debug(message, first, second);
    }
}
