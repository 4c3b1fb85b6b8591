package io.weir.limit;

import java.util.function.LongConsumer;

/** Many runs of a random test, each with a seed of its own. */
final class RandomRuns {

    private RandomRuns() {}

    /** Plays that many runs; {@code -DPROPERTY=SEED} replays one. */
    static void play(String subject, String property, int runs, LongConsumer run) {
        Long replayed = Long.getLong(property);
        if (replayed != null) {
            run.accept(replayed);
            return;
        }
        long first = System.nanoTime();
        System.out.printf("%s against its model: -D%s=%d to %d%n", subject, property, first, first + runs - 1);
        for (int i = 0; i < runs; i++) {
            run.accept(first + i);
        }
    }
}
