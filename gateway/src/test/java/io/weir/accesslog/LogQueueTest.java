package io.weir.accesslog;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.weir.testing.Patience;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.MDC;

class LogQueueTest {

    /** An appender that blocks, with its lock, until it is released; a pipe that nobody reads. */
    private static final class StuckAppender extends AppenderBase<ILoggingEvent> {

        final CountDownLatch entered = new CountDownLatch(1);
        final CountDownLatch released = new CountDownLatch(1);
        final Queue<ILoggingEvent> written = new ConcurrentLinkedQueue<>();

        @Override
        protected void append(ILoggingEvent event) {
            entered.countDown();
            try {
                released.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            written.add(event);
        }

        @Override
        public synchronized void stop() {
            super.stop();
        }

        @Override
        public synchronized void doAppend(ILoggingEvent event) {
            super.doAppend(event);
        }
    }

    private final LoggerContext context = new LoggerContext();
    private final Logger log = context.getLogger("of.a.test");
    private final StuckAppender target = new StuckAppender();

    private LogQueue queue() {
        context.setMDCAdapter(MDC.getMDCAdapter());
        target.setContext(context);
        target.setName("CONSOLE");
        target.start();
        LogQueue queue = new LogQueue(target);
        queue.start();
        log.addAppender(queue);
        return queue;
    }

    @AfterEach
    void stop() {
        target.released.countDown();
        context.stop();
    }

    @Test
    void writesWhatWasLoggedAsItWasLogged() {
        LogQueue queue = queue();
        AtomicInteger number = new AtomicInteger(1);
        try (MDC.MDCCloseable traced = MDC.putCloseable("trace", "t-1")) {
            assertThat(traced).isNotNull();
            log.info("number {}", number);
        }
        number.set(2);
        log.error("defect", new IllegalStateException("of a test"));
        target.released.countDown();
        queue.stop();

        assertThat(queue.getName()).isEqualTo("CONSOLE");
        assertThat(queue.dropped()).isZero();
        List<ILoggingEvent> written = List.copyOf(target.written);
        assertThat(written).extracting(ILoggingEvent::getFormattedMessage).containsExactly("number 1", "defect");
        assertThat(written.getFirst().getMDCPropertyMap()).containsEntry("trace", "t-1");
        assertThat(written.getFirst().getThreadName())
                .isEqualTo(Thread.currentThread().getName());
        assertThat(written.getLast().getThrowableProxy().getMessage()).isEqualTo("of a test");
        assertThat(target.isStarted()).isFalse();
    }

    @Test
    void keepsItsLastFifthForWarningsAndErrors() throws InterruptedException {
        log.setLevel(Level.TRACE);
        LogQueue queue = queue();
        log.info("is with the appender");
        assertThat(target.entered.await(Patience.PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .isTrue();
        for (int i = 0; i < LogQueue.CAPACITY; i++) {
            log.debug("detail {}", i);
        }
        assertThat(queue.dropped()).isEqualTo(LogQueue.CAPACITY - LogQueue.DETAILS_CAPACITY);

        int warnings = LogQueue.CAPACITY - LogQueue.DETAILS_CAPACITY;
        for (int i = 0; i < warnings; i++) {
            log.warn("warning {}", i);
        }
        log.error("finds the queue full");
        target.released.countDown();
        queue.stop();

        assertThat(queue.dropped()).isEqualTo(warnings + 1);
        assertThat(target.written).hasSize(1 + LogQueue.CAPACITY + 1);
        assertThat(target.written.stream().filter(event -> event.getLevel() == Level.WARN))
                .hasSize(warnings + 1);
        ILoggingEvent last = List.copyOf(target.written).getLast();
        assertThat(last.getLoggerName()).isEqualTo(LogQueue.class.getName());
        assertThat(last.getFormattedMessage())
                .isEqualTo("Log CONSOLE: %1$d lines dropped, %1$d since the start".formatted(warnings + 1));
    }

    @Test
    void stopsWithoutTheLockOfAnAppenderThatIsStuck() throws InterruptedException {
        LogQueue queue = queue();
        log.info("stuck");
        assertThat(target.entered.await(Patience.PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .isTrue();

        queue.stop();

        assertThat(queue.isStarted()).isFalse();
        assertThat(target.isStarted()).isTrue();
    }
}
