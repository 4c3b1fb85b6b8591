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
 * Finds out, ten times a second, what a request cannot: how late the event loops are and how full the memory is; and
 * tells the {@link OverloadGuard}.
 *
 * <p>On a thread of its own, since a loop that is stuck cannot tell that it is.
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
    private boolean strained;

    /**
     * A sampler that has not {@linkplain #start started}.
     *
     * @param loops the event loops; a Netty {@code EventLoopGroup} is an {@code Iterable} of them
     * @param nanoClock {@link System#nanoTime} but for tests
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

    /** Begins to sample. */
    @SuppressWarnings("FutureReturnValueIgnored") // It never completes: nothing is thrown, and close() ends it.
    public void start() {
        timer.scheduleAtFixedRate(this::sampleSafely, 0, PERIOD_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Direct memory in use; percent. */
    public int directPercent() {
        return directPercent;
    }

    /** Heap that survived a collection; percent. */
    public int heapPercent() {
        return heapPercent;
    }

    /** Ends; the guard keeps its last figures. */
    @Override
    public void close() {
        timer.shutdownNow();
    }

    private void sampleSafely() {
        try {
            sample();
        } catch (RuntimeException e) {
            // An executor drops a task that throws, and nobody would sample any more.
            log.error("Overload could not be sampled", e);
        }
    }

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
        // With nothing in flight, what is left is the strain.
        boolean now = guard.isOverloaded(0);
        if (now != strained) {
            strained = now;
            log.warn(
                    "{}: event loops {} ms late, direct memory {} %, heap {} %",
                    now ? "Overloaded, shedding new work" : "Overload is over",
                    TimeUnit.NANOSECONDS.toMillis(worst),
                    directPercent,
                    heapPercent);
        }
    }
}
