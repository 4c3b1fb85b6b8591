package io.weir.accesslog;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.Appender;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.context.event.ApplicationEnvironmentPreparedEvent;
import org.springframework.boot.context.logging.LoggingApplicationListener;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.Ordered;

/**
 * The gateway's own log and standard error, behind queues: no event loop waits for a pipe that nobody reads,
 * or for a disk that hangs.
 *
 * <p>It follows the listener of Spring Boot that configures the log, and puts a {@link LogQueue} in front of
 * each appender, whatever the configuration names. Each has a thread of its own, so that a file on a disk
 * that hangs does not stop the console. A shutdown hook writes what is queued, also after a failed start.
 */
public final class QueuedLog
        implements ApplicationListener<ApplicationEnvironmentPreparedEvent>,
                ApplicationContextInitializer<ConfigurableApplicationContext>,
                Ordered {

    private static final String BEAN = "queuedLog";

    private final List<LogQueue> queues = new CopyOnWriteArrayList<>();
    private @Nullable QueuedStream standardError;

    @Override
    public int getOrder() {
        return LoggingApplicationListener.DEFAULT_ORDER + 1;
    }

    @Override
    public void onApplicationEvent(ApplicationEnvironmentPreparedEvent event) {
        standardError = QueuedStream.replaceStandardError();
        install();
        SpringApplication.getShutdownHandlers().add(this::close);
    }

    /** Makes this object a bean, for the meter. */
    @Override
    public void initialize(ConfigurableApplicationContext context) {
        context.getBeanFactory().registerSingleton(BEAN, this);
    }

    /** Puts a queue in front of each appender of Logback. */
    public void install() {
        if (!(LoggerFactory.getILoggerFactory() instanceof LoggerContext context)) {
            return;
        }
        IdentityHashMap<Appender<ILoggingEvent>, LogQueue> byAppender = new IdentityHashMap<>();
        for (Logger logger : context.getLoggerList()) {
            List<Appender<ILoggingEvent>> appenders = new ArrayList<>();
            logger.iteratorForAppenders().forEachRemaining(appenders::add);
            for (Appender<ILoggingEvent> appender : appenders) {
                if (!(appender instanceof LogQueue)) {
                    logger.detachAppender(appender);
                    logger.addAppender(byAppender.computeIfAbsent(appender, this::queue));
                }
            }
        }
    }

    private LogQueue queue(Appender<ILoggingEvent> appender) {
        LogQueue queue = new LogQueue(appender);
        queue.start();
        queues.add(queue);
        return queue;
    }

    /** Lines of the log, and of standard error, that were dropped since the start. */
    public long dropped() {
        QueuedStream stream = standardError;
        return queues.stream().mapToLong(LogQueue::dropped).sum() + (stream == null ? 0 : stream.dropped());
    }

    /** Writes what is queued. */
    private void close() {
        queues.forEach(LogQueue::stop);
        QueuedStream stream = standardError;
        if (stream != null) {
            stream.close();
        }
    }
}
