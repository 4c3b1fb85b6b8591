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

/** Fails a test class if Netty's leak detector finds a leaked buffer. */
public final class Leaks implements BeforeAllCallback, AfterAllCallback {

    private static final Logger DETECTOR = (Logger) LoggerFactory.getLogger(ResourceLeakDetector.class);
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final AtomicInteger LOST = new AtomicInteger();

    /** The detector's records of the leaked buffers. */
    private final List<String> lost = new CopyOnWriteArrayList<>();

    @Override
    public void beforeAll(ExtensionContext context) throws InterruptedException {
        // A listener and not the detector's log: each started gateway configures logging again.
        ByteBufUtil.setLeakListener((type, records) -> lost.add(records));
        // Leaks of earlier test classes do not count.
        awaitReportOfOneLost();
        lost.clear();
    }

    @Override
    public void afterAll(ExtensionContext context) throws InterruptedException {
        assertThat(ResourceLeakDetector.getLevel()).isEqualTo(ResourceLeakDetector.Level.PARANOID);
        // Twice: an object that the first collection finds may hold another.
        awaitReportOfOneLost();
        awaitReportOfOneLost();
        ByteBufUtil.setLeakListener(null);
        assertThat(lost).as("lost buffers").isEmpty();
    }

    /**
     * Leaks a buffer, and waits until the detector reports it. The detector reports a leaked buffer when it
     * has been collected and the next buffer is allocated, so all earlier leaks have been reported by then.
     */
    private void awaitReportOfOneLost() throws InterruptedException {
        // A unique hint: the detector reports equal leaks only once.
        String hint = "lost on purpose, " + LOST.incrementAndGet();
        boolean additive = DETECTOR.isAdditive();
        // This expected leak does not belong in the log.
        DETECTOR.setAdditive(false);
        try {
            lose(hint);
            long end = System.nanoTime() + PATIENCE.toNanos();
            do {
                assertThat(System.nanoTime() - end)
                        .as("the detector's patience")
                        .isNegative();
                System.gc();
                // The collector enqueues references one after the other.
                Thread.sleep(20);
                PooledByteBufAllocator.DEFAULT.buffer().release();
                PooledByteBufAllocator.DEFAULT.directBuffer().release();
            } while (!lost.removeIf(records -> records.contains(hint)));
        } finally {
            DETECTOR.setAdditive(additive);
        }
    }

    /** A method of its own, so that no stack slot holds the buffer. */
    @SuppressWarnings("CheckReturnValue")
    private static void lose(String hint) {
        PooledByteBufAllocator.DEFAULT.heapBuffer(1).touch(hint);
    }
}
