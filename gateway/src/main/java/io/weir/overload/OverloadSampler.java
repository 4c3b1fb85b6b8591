package io.weir.overload;

import io.weir.overload.StuckLoops.WatchedLoop;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts the measurement of each event loop's delay, samples these delays and the memory in use ten times a
 * second, and passes both to the {@link OverloadGuard}.
 *
 * <p>The sampler has a thread of its own, since a stuck event loop cannot report itself.
 */
public final class OverloadSampler implements AutoCloseable {

    static final int PERIOD_MILLIS = 100;

    /**
     * An overload counts as over after a second of samples without overload, so that the log has one line for
     * its start and one for its end.
     */
    private static final int CALM_SAMPLES = 10;

    private static final double PERCENT = 100;

    private static final Logger log = LoggerFactory.getLogger(OverloadSampler.class);

    private final List<LoopDelay> loops;
    private final StuckLoops stuckLoops;
    private final OutsideWork outsideWork;
    private final MemoryShare memory;
    private final OverloadGuard guard;
    private final LongSupplier nanoClock;
    private final ScheduledExecutorService timer;
    private volatile int directPercent;
    private volatile int heapPercent;
    private boolean wasOverloaded;
    private int calmSamples;

    /**
     * A sampler that has not {@linkplain #start started}.
     *
     * @param loops the event loops; a Netty {@code EventLoopGroup} is an {@code Iterable} of them
     * @param guard receives the samples
     * @param nanoClock {@link System#nanoTime}, except in tests
     */
    public OverloadSampler(
            Iterable<? extends ScheduledExecutorService> loops, OverloadGuard guard, LongSupplier nanoClock) {
        this(loops, MemoryShare.ofThisJvm(), guard, nanoClock);
    }

    /** A sampler with another source of the memory in use. */
    public OverloadSampler(
            Iterable<? extends ScheduledExecutorService> loops,
            MemoryShare memory,
            OverloadGuard guard,
            LongSupplier nanoClock) {
        this(timers(loops), SchedulerStatistics::new, JvmProcessorUse::new, memory, guard, nanoClock);
    }

    /**
     * A sampler of these loops, each with its timer.
     *
     * @param processorWait makes the measurement of one loop's thread
     * @param processorUse makes the measurement of the threads that are none of these loops
     */
    OverloadSampler(
            Map<? extends Executor, LoopDelay.Timer> loops,
            Supplier<? extends ProcessorWait> processorWait,
            Function<List<LoopDelay>, ? extends ProcessorUse> processorUse,
            MemoryShare memory,
            OverloadGuard guard,
            LongSupplier nanoClock) {
        Map<Executor, LoopDelay> delays = new HashMap<>();
        List<WatchedLoop> watched = new ArrayList<>();
        loops.forEach((loop, loopTimer) -> {
            LoadShedder shedder = guard.newShedder(nanoClock.getAsLong() + delays.size());
            LoopDelay delay = new LoopDelay(
                    loopTimer,
                    nanoClock,
                    processorWait.get(),
                    guard.maxLoopDelayNanos(),
                    shedder,
                    guard.sheddingLoops());
            delays.put(loop, delay);
            watched.add(new WatchedLoop(loop, delay));
        });
        guard.watch(delays);
        this.loops = List.copyOf(delays.values());
        this.outsideWork = new OutsideWork(
                processorUse.apply(this.loops), Runtime.getRuntime().availableProcessors());
        this.stuckLoops = new StuckLoops(watched);
        this.memory = memory;
        this.guard = guard;
        this.nanoClock = nanoClock;
        this.timer = Executors.newSingleThreadScheduledExecutor(
                Thread.ofPlatform().daemon().name("weir-overload").factory());
    }

    private static Map<Executor, LoopDelay.Timer> timers(Iterable<? extends ScheduledExecutorService> loops) {
        Map<Executor, LoopDelay.Timer> timers = new HashMap<>();
        loops.forEach(loop -> timers.put(loop, (task, delayNanos) -> {
            var _ = loop.schedule(task, delayNanos, TimeUnit.NANOSECONDS);
        }));
        return timers;
    }

    /** Starts the measurements and the sampling. */
    @SuppressWarnings(
            "FutureReturnValueIgnored") // It never completes: sampleSafely() does not throw, and close() ends it.
    public void start() {
        startLoops();
        // With a fixed delay: after a pause of the process, no samples are taken to catch up.
        timer.scheduleWithFixedDelay(this::sampleSafely, 0, PERIOD_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Starts the measurements on the event loops, without the sampling. */
    public void startLoops() {
        loops.forEach(LoopDelay::start);
    }

    /** Direct memory in use, in percent. */
    public int directPercent() {
        return directPercent;
    }

    /** The heap that survived a collection, in percent. */
    public int heapPercent() {
        return heapPercent;
    }

    /** The number of event loops that run no task. */
    public int stuckLoops() {
        return stuckLoops.count();
    }

    /** Stops the measurements and the sampling. The guard keeps its last sample of the memory. */
    @Override
    public void close() {
        timer.shutdownNow();
        loops.forEach(LoopDelay::close);
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
        long now = nanoClock.getAsLong();
        boolean isPatient = outsideWork.sample(now);
        long worst = 0;
        double share = 0;
        for (LoopDelay loop : loops) {
            loop.setPatient(isPatient);
            worst = Math.max(worst, loop.takeHighestNanos());
            share = Math.max(share, loop.takeHighestShare());
        }
        stuckLoops.sample(now);
        directPercent = memory.directPercent();
        heapPercent = memory.heapPercent(now);
        guard.observe(worst, share, Math.max(directPercent, heapPercent));
        report(worst, share);
    }

    private void report(long worst, double share) {
        boolean isOverloaded = guard.isOverloaded();
        calmSamples = isOverloaded ? 0 : calmSamples + 1;
        if (wasOverloaded ? calmSamples == CALM_SAMPLES : isOverloaded) {
            wasOverloaded = !wasOverloaded;
            log.warn(
                    "{}: an event loop {} ms late refuses {} %, direct memory {} %, heap {} %",
                    wasOverloaded ? "Overloaded, shedding new work" : "Overload is over",
                    TimeUnit.NANOSECONDS.toMillis(worst),
                    Math.round(share * PERCENT),
                    directPercent,
                    heapPercent);
        }
    }
}
