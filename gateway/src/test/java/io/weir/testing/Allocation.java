package io.weir.testing;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** Measures the heap bytes that a piece of work allocates on its thread. */
public final class Allocation {

    private static final int WARM_UP = 20_000;
    private static final int ROUNDS = 10_000;
    private static final int ATTEMPTS = 25;

    private Allocation() {}

    /**
     * Bytes per round: the least of many attempts, since the JIT compiler may interfere, and late on a busy
     * machine.
     */
    public static long bytesPer(Runnable work) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        run(work, WARM_UP);
        long least = Long.MAX_VALUE;
        for (int i = 0; i < ATTEMPTS; i++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            run(work, ROUNDS);
            least = Math.min(least, (threads.getCurrentThreadAllocatedBytes() - before) / ROUNDS);
        }
        return least;
    }

    private static void run(Runnable work, int rounds) {
        for (int i = 0; i < rounds; i++) {
            work.run();
        }
    }
}
