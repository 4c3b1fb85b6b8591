package io.weir.sim.faults;

import java.time.Duration;

/** Computes, so that a core is really busy for that time. */
final class CpuBurner {

    private static final int ROUNDS_BETWEEN_LOOKS = 1_000;

    private CpuBurner() {}

    static void burn(Duration time) {
        if (!time.isPositive()) {
            return;
        }
        long start = System.nanoTime();
        long value = start | 1;
        while (System.nanoTime() - start < time.toNanos()) {
            for (int i = 0; i < ROUNDS_BETWEEN_LOOKS; i++) {
                value ^= value << 13;
                value ^= value >>> 7;
                value ^= value << 17;
            }
        }
        // Its use, so that no compiler finds the computing useless; never 0, since it does not start there.
        if (value == 0) {
            throw new IllegalStateException("xorshift reached 0");
        }
    }
}
