package io.weir.accesslog;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.UnsynchronizedAppenderBase;

/**
 * An appender that puts a queue in front of another appender, so that no thread that logs waits for a pipe or
 * a disk.
 *
 * <p>The queue holds {@value #CAPACITY} events: a burst, and at most some 20 MB if each has a stack trace.
 * The last fifth is for warnings and errors, so that a flood of details cannot push them out.
 *
 * <p><b>Rejected:</b> Logback's {@code AsyncAppender} with {@code neverBlock}: it does not tell how many
 * events it has dropped, its queue takes a lock on the event loop, and at a stop it waits for an appender
 * that is stuck.
 */
final class LogQueue extends UnsynchronizedAppenderBase<ILoggingEvent> {

    static final int CAPACITY = 2_048;
    static final int DETAILS_CAPACITY = CAPACITY / 5 * 4;

    private final Appender<ILoggingEvent> target;
    private final QueuedWriter<ILoggingEvent> writer;

    /** A queue in front of an appender that is started. */
    LogQueue(Appender<ILoggingEvent> target) {
        this.target = target;
        this.writer = new QueuedWriter<>(CAPACITY, target::doAppend, this::warning);
        setName(target.getName());
        setContext(target.getContext());
    }

    /** A line of this queue's own. */
    private ILoggingEvent warning(String message) {
        Logger log = ((LoggerContext) getContext()).getLogger(LogQueue.class);
        return new LoggingEvent(Logger.FQCN, log, Level.WARN, "Log " + getName() + ": " + message, null, null);
    }

    @Override
    protected void append(ILoggingEvent event) {
        // The arguments of the message, the thread's name and its context are those of the present thread.
        event.prepareForDeferredProcessing();
        writer.offer(event, event.getLevel().isGreaterOrEqual(Level.WARN) ? CAPACITY : DETAILS_CAPACITY);
    }

    /** The appender behind the queue. */
    Appender<ILoggingEvent> target() {
        return target;
    }

    /** Events that were dropped since the start. */
    long dropped() {
        return writer.dropped();
    }

    /** Writes the queued events. An appender that is stuck stays open: to stop it would wait for its lock. */
    @Override
    public void stop() {
        if (isStarted()) {
            super.stop();
            if (writer.close()) {
                target.stop();
            }
        }
    }
}
