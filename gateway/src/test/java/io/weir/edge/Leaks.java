package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import java.util.List;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.slf4j.LoggerFactory;

/** Fails a class of tests when Netty's leak detector has found something. */
public final class Leaks implements BeforeAllCallback, AfterAllCallback {

    private static final Logger DETECTOR = (Logger) LoggerFactory.getLogger(ResourceLeakDetector.class);

    private final ListAppender<ILoggingEvent> reports = new ListAppender<>();

    @Override
    public void beforeAll(ExtensionContext context) {
        reports.start();
        DETECTOR.addAppender(reports);
    }

    @Override
    public void afterAll(ExtensionContext context) throws InterruptedException {
        assertThat(ResourceLeakDetector.getLevel()).isEqualTo(ResourceLeakDetector.Level.PARANOID);
        // What has leaked is reported when it has been collected and the next buffer is made.
        for (int i = 0; i < 10; i++) {
            System.gc();
            PooledByteBufAllocator.DEFAULT.buffer().release();
            PooledByteBufAllocator.DEFAULT.directBuffer().release();
            Thread.sleep(20);
        }
        DETECTOR.detachAppender(reports);
        assertThat(List.copyOf(reports.list))
                .extracting(ILoggingEvent::getFormattedMessage)
                .isEmpty();
    }
}
