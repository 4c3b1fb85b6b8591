package io.weir.overload;

import io.netty.util.concurrent.SingleThreadEventExecutor;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds event loops that run no task for {@value #STUCK_SECONDS} seconds, and logs the stack trace of each.
 *
 * <p>It counts samples instead of reading the clock: a pause of the whole process delays the samples as well.
 *
 * <p>Not thread-safe: for the sampler's thread, except {@link #count}.
 */
final class StuckLoops {

    static final int STUCK_SECONDS = 5;

    private static final int STUCK_SAMPLES = STUCK_SECONDS * 1_000 / OverloadSampler.PERIOD_MILLIS;

    private static final Logger log = LoggerFactory.getLogger(StuckLoops.class);

    private final List<WatchedLoop> loops;
    private volatile int count;

    StuckLoops(List<WatchedLoop> loops) {
        this.loops = loops;
    }

    /** A loop, its timer, and the number of samples for which the timer has been late without a run. */
    static final class WatchedLoop {

        private final Executor loop;
        private final LoopDelay delay;
        private long dueAtNanos;
        private int lateSamples;

        WatchedLoop(Executor loop, LoopDelay delay) {
            this.loop = loop;
            this.delay = delay;
            this.dueAtNanos = delay.dueAtNanos();
        }

        LoopDelay delay() {
            return delay;
        }

        /** Takes a sample; returns whether the loop is stuck. */
        private boolean sample(long nowNanos) {
            long due = delay.dueAtNanos();
            boolean isLate = due == dueAtNanos && nowNanos - due > 0 && !delay.isClosed();
            dueAtNanos = due;
            boolean wasStuck = lateSamples >= STUCK_SAMPLES;
            lateSamples = isLate ? lateSamples + 1 : 0;
            boolean isStuck = lateSamples >= STUCK_SAMPLES;
            if (isStuck && !wasStuck) {
                log.error(
                        "{} has run no task for {} s; its connections get no answer. It is at:{}",
                        name(),
                        STUCK_SECONDS,
                        stackTrace());
            } else if (wasStuck && !isStuck) {
                log.warn("{} runs again", name());
            }
            return isStuck;
        }

        private String name() {
            return loop instanceof SingleThreadEventExecutor executor
                    ? "Event loop " + executor.threadProperties().name()
                    : "Event loop";
        }

        private String stackTrace() {
            return loop instanceof SingleThreadEventExecutor executor
                    ? Arrays.stream(executor.threadProperties().stackTrace())
                            .map(frame -> "\n\tat " + frame)
                            .collect(Collectors.joining())
                    : " unknown";
        }
    }

    /** Takes a sample of each loop. */
    void sample(long nowNanos) {
        int stuck = 0;
        for (WatchedLoop loop : loops) {
            if (loop.sample(nowNanos)) {
                stuck++;
            }
        }
        count = stuck;
    }

    /** The number of stuck loops. */
    int count() {
        return count;
    }
}
