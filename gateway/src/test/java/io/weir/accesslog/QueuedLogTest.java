package io.weir.accesslog;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import org.springframework.boot.context.logging.LoggingApplicationListener;
import org.springframework.context.support.GenericApplicationContext;

class QueuedLogTest {

    private final Logger first = (Logger) LoggerFactory.getLogger("queued.log.first");
    private final Logger second = (Logger) LoggerFactory.getLogger("queued.log.second");
    private final ListAppender<ILoggingEvent> shared = new ListAppender<>();
    private final QueuedLog log = new QueuedLog();

    @AfterEach
    void detach() {
        first.detachAndStopAllAppenders();
        second.detachAndStopAllAppenders();
        uninstall((Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME));
    }

    /** Puts back what other tests use. */
    private static void uninstall(Logger root) {
        root.iteratorForAppenders().forEachRemaining(appender -> {
            if (appender instanceof LogQueue queue) {
                root.detachAppender(queue);
                root.addAppender(queue.target());
            }
        });
    }

    @Test
    void putsOneQueueInFrontOfEachAppenderOfEveryLogger() {
        shared.setName("SHARED");
        shared.start();
        first.addAppender(shared);
        second.addAppender(shared);

        log.install();
        log.install();

        assertThat(first.getAppender("SHARED")).isInstanceOf(LogQueue.class).isSameAs(second.getAppender("SHARED"));
        assertThat(((LogQueue) first.getAppender("SHARED")).target()).isSameAs(shared);
        first.warn("one");
        second.warn("two");
        first.detachAndStopAllAppenders();
        assertThat(shared.list).extracting(ILoggingEvent::getFormattedMessage).containsExactly("one", "two");
        assertThat(log.dropped()).isZero();
    }

    @Test
    void comesAfterTheConfigurationOfTheLogAndIsABeanForItsMeter() {
        assertThat(log.getOrder()).isGreaterThan(LoggingApplicationListener.DEFAULT_ORDER);
        try (GenericApplicationContext context = new GenericApplicationContext()) {
            log.initialize(context);
            context.refresh();
            assertThat(context.getBean(QueuedLog.class)).isSameAs(log);
        }
    }
}
