package io.weir.overload;

import io.netty.util.concurrent.EventExecutor;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Replaces a gateway's measurements of its own load: each event loop is as late as the test says, and the
 * memory is as full. A machine that is busy with other work causes no delay.
 */
final class LoopTime implements AutoCloseable {

    /** After {@link System#nanoTime}, which the engine compares with the last run of a timer: no pause. */
    private static final long START_NANOS = System.nanoTime() + TimeUnit.DAYS.toNanos(1);

    private final Map<EventExecutor, LateLoop> loops = new HashMap<>();
    private final AtomicInteger memoryPercent = new AtomicInteger();
    private final OverloadSampler sampler;

    /** An event loop whose timers are late by a given time. Its clock moves only when a timer runs. */
    private static final class LateLoop implements LoopDelay.Timer {

        private final EventExecutor loop;
        private final AtomicLong nowNanos = new AtomicLong(START_NANOS);
        private final AtomicInteger iterations = new AtomicInteger();
        private volatile long lateNanos;
        private volatile Runnable task = () -> {};

        private LateLoop(EventExecutor loop) {
            this.loop = loop;
        }

        @Override
        public void schedule(Runnable timer, long delayNanos) {
            long nanos = delayNanos + lateNanos;
            var _ = loop.schedule(
                    () -> {
                        nowNanos.addAndGet(nanos);
                        task.run();
                        timer.run();
                        iterations.incrementAndGet();
                    },
                    nanos,
                    TimeUnit.NANOSECONDS);
        }
    }

    /** Takes over from the gateway's own sampler. Nothing is late, and the memory is empty. */
    LoopTime(Iterable<EventExecutor> loops, OverloadSampler own, OverloadGuard guard) {
        own.close();
        loops.forEach(loop -> this.loops.put(loop, new LateLoop(loop)));
        MemoryShare memory = new MemoryShare(List.of(), 0, memoryPercent::get, 100);
        Map<EventExecutor, LoopDelay.Timer> timers = new HashMap<>(this.loops);
        sampler = new OverloadSampler(timers, () -> () -> 0, _ -> () -> 0, memory, guard, this::nanos);
        sampler.startLoops();
    }

    private long nanos() {
        long latest = START_NANOS;
        for (LateLoop loop : loops.values()) {
            if (loop.loop.inEventLoop()) {
                return loop.nowNanos.get();
            }
            latest = Math.max(latest, loop.nowNanos.get());
        }
        return latest;
    }

    /** From now on each iteration of an event loop takes that long, and runs a task. */
    void delay(EventExecutor loop, long millis, Runnable task) {
        LateLoop late = late(loop);
        late.task = task;
        late.lateNanos = TimeUnit.MILLISECONDS.toNanos(millis);
    }

    /** Ends the delay of an event loop. */
    void endDelay(EventExecutor loop) {
        delay(loop, 0, () -> {});
    }

    /** Makes the present iteration of an event loop last longer. Call it on the loop. */
    void pause(EventExecutor loop, long millis) {
        late(loop).nowNanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
    }

    /** The number of iterations that an event loop has ended. */
    int iterations(EventExecutor loop) {
        return late(loop).iterations.get();
    }

    /** Sets the share of the memory in use. */
    void fillMemory(int percent) {
        memoryPercent.set(percent);
    }

    /** Takes a sample, as the gateway does ten times a second. */
    void sample() {
        sampler.sample();
    }

    /** The number of event loops that run no task. */
    int stuckLoops() {
        return sampler.stuckLoops();
    }

    private LateLoop late(EventExecutor loop) {
        LateLoop late = loops.get(loop);
        if (late == null) {
            throw new IllegalArgumentException(loop + " (expected: an event loop of the gateway)");
        }
        return late;
    }

    @Override
    public void close() {
        sampler.close();
    }
}
