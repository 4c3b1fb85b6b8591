package io.weir.outcome;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class ThrottledLogTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private final Exception failure = new IllegalStateException("on purpose");

    private final Logger logger = (Logger) LoggerFactory.getLogger(ThrottledLogTest.class);
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
    private final ThrottledLog log = ThrottledLog.of(ThrottledLogTest.class);

    @BeforeEach
    void record() {
        logger.setAdditive(false);
        logger.addAppender(lines);
        lines.start();
    }

    @AfterEach
    void stop() {
        logger.detachAppender(lines);
        logger.setAdditive(true);
    }

    @Test
    void writesTheFirstLineAtOnceWithItsStackTrace() {
        log.error(-SECOND, "failed", failure);

        assertThat(lines.list).extracting(ILoggingEvent::getFormattedMessage).containsExactly("failed");
        assertThat(lines.list.getFirst().getThrowableProxy().getMessage()).isEqualTo("on purpose");
    }

    @Test
    void writesOneLinePerSecondWithTheNumberOfOmittedOnes() {
        for (int i = 0; i < 1000; i++) {
            log.error(i, "failed", failure);
        }
        log.error(SECOND, "failed", failure);
        log.error(2 * SECOND, "failed", failure);

        assertThat(lines.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .containsExactly("failed", "failed (999 more like it were not logged)", "failed");
    }

    @Test
    void writesOneWarningPerSecondAndBuildsNoTextOfOmittedOnes() {
        AtomicInteger built = new AtomicInteger();
        for (int i = 0; i < 1000; i++) {
            log.warn(i, () -> "refused " + built.incrementAndGet());
        }
        log.warn(SECOND, () -> "refused " + built.incrementAndGet());

        assertThat(lines.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .containsExactly("refused 1", "refused 2 (999 more like it were not logged)");
    }
}
