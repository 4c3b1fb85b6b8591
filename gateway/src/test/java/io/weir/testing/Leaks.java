package io.weir.testing;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.slf4j.LoggerFactory;

/** Fails a class of tests when Netty's leak detector has found a lost buffer. */
public final class Leaks implements BeforeAllCallback, AfterAllCallback {

    private static final Logger DETECTOR = (Logger) LoggerFactory.getLogger(ResourceLeakDetector.class);
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final AtomicInteger LOST = new AtomicInteger();

    /** Where each lost buffer has been. */
    private final List<String> lost = new CopyOnWriteArrayList<>();

    @Override
    public void beforeAll(ExtensionContext context) throws InterruptedException {
        // Not by the detector's log: each gateway that is started sets the logging up anew.
        ByteBufUtil.setLeakListener((type, records) -> lost.add(records));
        // What others have lost before is not this class's doing.
        awaitReportOfOneLost();
        lost.clear();
    }

    @Override
    public void afterAll(ExtensionContext context) throws InterruptedException {
        assertThat(ResourceLeakDetector.getLevel()).isEqualTo(ResourceLeakDetector.Level.PARANOID);
        // Twice: what the first collection has found may have held something else.
        awaitReportOfOneLost();
        awaitReportOfOneLost();
        ByteBufUtil.setLeakListener(null);
        assertThat(lost).as("lost buffers").isEmpty();
    }

    /**
     * Loses a buffer, and waits until the detector says so. What has leaked is reported when it has been collected and the next buffer
     * is made: whatever was lost before this one has been collected with it.
     */
    private void awaitReportOfOneLost() throws InterruptedException {
        // A hint of its own: the detector says the same only once.
        String hint = "lost on purpose, " + LOST.incrementAndGet();
        boolean additive = DETECTOR.isAdditive();
        // No news for the log.
        DETECTOR.setAdditive(false);
        try {
            lose(hint);
            long end = System.nanoTime() + PATIENCE.toNanos();
            do {
                assertThat(System.nanoTime() - end)
                        .as("the detector's patience")
                        .isNegative();
                System.gc();
                // Found references are queued one after the other.
                Thread.sleep(20);
                PooledByteBufAllocator.DEFAULT.buffer().release();
                PooledByteBufAllocator.DEFAULT.directBuffer().release();
            } while (!lost.removeIf(records -> records.contains(hint)));
        } finally {
            DETECTOR.setAdditive(additive);
        }
    }

    /** In a method of its own, so that nothing on the stack holds it. */
    @SuppressWarnings("CheckReturnValue")
    private static void lose(String hint) {
        PooledByteBufAllocator.DEFAULT.heapBuffer(1).touch(hint);
    }
}
