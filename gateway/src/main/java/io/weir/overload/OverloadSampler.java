package io.weir.overload;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Measures the event loops' delay and the memory in use ten times a second, and passes both to the {@link
 * OverloadGuard}.
 *
 * <p>It has a thread of its own, since a stuck event loop cannot measure itself.
 */
public final class OverloadSampler implements AutoCloseable {

    static final int PERIOD_MILLIS = 100;

    private static final Logger log = LoggerFactory.getLogger(OverloadSampler.class);

    private final List<LoopDelay> loops;
    private final MemoryShare memory;
    private final OverloadGuard guard;
    private final LongSupplier nanoClock;
    private final ScheduledExecutorService timer;
    private volatile int directPercent;
    private volatile int heapPercent;
    private boolean wasOverloaded;

    /**
     * A sampler that has not {@linkplain #start started}.
     *
     * @param loops the event loops; a Netty {@code EventLoopGroup} is an {@code Iterable} of them
     * @param guard receives the samples
     * @param nanoClock {@link System#nanoTime}, except in tests
     */
    public OverloadSampler(Iterable<? extends Executor> loops, OverloadGuard guard, LongSupplier nanoClock) {
        this(loops, MemoryShare.ofThisJvm(), guard, nanoClock);
    }

    public OverloadSampler(
            Iterable<? extends Executor> loops, MemoryShare memory, OverloadGuard guard, LongSupplier nanoClock) {
        List<LoopDelay> delays = new ArrayList<>();
        loops.forEach(loop -> delays.add(new LoopDelay(loop, nanoClock)));
        this.loops = List.copyOf(delays);
        this.memory = memory;
        this.guard = guard;
        this.nanoClock = nanoClock;
        this.timer = Executors.newSingleThreadScheduledExecutor(
                Thread.ofPlatform().daemon().name("weir-overload").factory());
    }

    /** Starts the sampling. */
    @SuppressWarnings(
            "FutureReturnValueIgnored") // It never completes: sampleSafely() does not throw, and close() ends it.
    public void start() {
        timer.scheduleAtFixedRate(this::sampleSafely, 0, PERIOD_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Direct memory in use, in percent. */
    public int directPercent() {
        return directPercent;
    }

    /** The heap that survived a collection, in percent. */
    public int heapPercent() {
        return heapPercent;
    }

    /** Stops the sampling. The guard keeps its last sample. */
    @Override
    public void close() {
        timer.shutdownNow();
    }

    private void sampleSafely() {
        try {
            sample();
        } catch (RuntimeException e) {
            // The executor would drop a task that throws, and the sampling would end.
            log.error("Sampling for overload failed", e);
        }
    }

    /** Takes one sample. */
    public void sample() {
        long worst = 0;
        for (LoopDelay loop : loops) {
            worst = Math.max(worst, loop.sample());
        }
        directPercent = memory.directPercent();
        heapPercent = memory.heapPercent(nanoClock.getAsLong());
        guard.observe(worst, Math.max(directPercent, heapPercent));
        report(worst);
    }

    private void report(long worst) {
        // With no exchange in flight, only the samples decide.
        boolean isOverloaded = guard.isOverloaded(0);
        if (isOverloaded != wasOverloaded) {
            wasOverloaded = isOverloaded;
            log.warn(
                    "{}: event loops {} ms late, direct memory {} %, heap {} %",
                    isOverloaded ? "Overloaded, shedding new work" : "Overload is over",
                    TimeUnit.NANOSECONDS.toMillis(worst),
                    directPercent,
                    heapPercent);
        }
    }
}
