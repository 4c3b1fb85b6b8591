package io.weir.testing;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.slf4j.LoggerFactory;

/**
 * Fails a test class if Netty's leak detector finds a leaked buffer that was created in its time; those of
 * earlier classes do not count. The detector tracks every buffer, but records only where a leaked one was
 * created: a record of each access would take a quarter of the processor time of the tests.
 * {@code -Dleak.records=4} adds the last accesses.
 */
public final class Leaks implements BeforeAllCallback, AfterAllCallback {

    private static final Logger DETECTOR = (Logger) LoggerFactory.getLogger(ResourceLeakDetector.class);
    private static final String LOST_ON_PURPOSE = Leaks.class.getName() + ".lose(";
    private static final AtomicInteger LOST = new AtomicInteger();

    /** The detector's records of the leaked buffers. */
    private final List<String> lost = new CopyOnWriteArrayList<>();

    @Override
    public void beforeAll(ExtensionContext context) throws InterruptedException {
        // A listener and not the detector's log: each started gateway configures logging again.
        ByteBufUtil.setLeakListener((type, records) -> lost.add(records));
        if (!TestLeakDetector.isInstalled()) {
            // No record names a class: a collection finds the leaks of earlier ones.
            awaitReportOfOneLost();
            lost.clear();
        }
        TestLeakDetector.begin(context.getRequiredTestClass());
    }

    @Override
    public void afterAll(ExtensionContext context) throws InterruptedException {
        assertThat(ResourceLeakDetector.getLevel()).isEqualTo(ResourceLeakDetector.Level.PARANOID);
        assertThat(TestLeakDetector.isInstalledIfNamed()).isTrue();
        // A collection takes longer than most tests; without an open buffer it would find no leak.
        if (TestLeakDetector.mayHaveLeaked()) {
            // Twice: an object that the first collection finds may hold another.
            awaitReportOfOneLost();
            awaitReportOfOneLost();
        }
        ByteBufUtil.setLeakListener(null);
        assertThat(lost)
                .as("lost buffers")
                .filteredOn(TestLeakDetector::isOfTestClass)
                .isEmpty();
    }

    /**
     * Leaks a buffer, and waits until the detector reports it. The detector reports a leaked buffer when it
     * has been collected and the next buffer is allocated, so all earlier leaks have been reported by then.
     */
    private void awaitReportOfOneLost() throws InterruptedException {
        boolean additive = DETECTOR.isAdditive();
        // This expected leak does not belong in the log.
        DETECTOR.setAdditive(false);
        try {
            // The detector reports leaks with equal stack traces only once.
            lose(LOST.incrementAndGet());
            long end = System.nanoTime() + Patience.PATIENCE.toNanos();
            do {
                assertThat(System.nanoTime() - end)
                        .as("the detector's patience")
                        .isNegative();
                System.gc();
                // The collector enqueues references one after the other.
                Thread.sleep(20);
                PooledByteBufAllocator.DEFAULT.buffer().release();
                PooledByteBufAllocator.DEFAULT.directBuffer().release();
            } while (!lost.removeIf(records -> records.contains(LOST_ON_PURPOSE)));
        } finally {
            DETECTOR.setAdditive(additive);
        }
    }

    /**
     * A method of its own, so that no stack slot holds the buffer. It allocates at the given depth of the
     * stack.
     */
    @SuppressWarnings("CheckReturnValue")
    private static void lose(int depth) {
        if (depth > 1) {
            lose(depth - 1);
        } else {
            PooledByteBufAllocator.DEFAULT.heapBuffer(1);
        }
    }
}
