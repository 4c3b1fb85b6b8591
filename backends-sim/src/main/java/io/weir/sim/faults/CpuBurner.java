package io.weir.sim.faults;

import java.time.Duration;

/** Keeps one core busy for a given time. */
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
        // Uses the value, so that the compiler cannot remove the loop. Xorshift never reaches 0 from another
        // value.
        if (value == 0) {
            throw new IllegalStateException("xorshift reached 0");
        }
    }
}
