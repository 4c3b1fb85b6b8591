package io.weir.overload;

import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Decides whether the gateway itself is overloaded: by its exchanges in flight, the delay of the request's
 * event loop, and its memory.
 *
 * <p>Thread-safe. Every request asks it once, so the decision is three reads while no event loop is
 * overloaded; {@link OverloadSampler} takes the samples.
 */
public final class OverloadGuard {

    private final OverloadProperties properties;
    private final AtomicInteger overloadedLoops = new AtomicInteger();
    private volatile Map<Executor, LoopDelay> loops = Map.of();
    private volatile boolean isMemoryShort;
    private volatile long loopDelayNanos;
    private volatile int memoryPercent;

    /** A guard without samples yet: not overloaded. */
    public OverloadGuard(OverloadProperties properties) {
        this.properties = properties;
    }

    /** Uses these delays from now on, by event loop. */
    void watch(Map<Executor, LoopDelay> delays) {
        loops = Map.copyOf(delays);
    }

    /** The number of overloaded event loops; each loop's delay maintains it. */
    AtomicInteger overloadedLoops() {
        return overloadedLoops;
    }

    /**
     * Whether a request must be refused.
     *
     * @param inFlight the exchanges in flight, including this request
     * @param loop the event loop of the caller's connection; the delay of other loops does not matter
     */
    public boolean isOverloaded(int inFlight, Executor loop) {
        return isMemoryShort
                || inFlight > properties.maxInFlight()
                || (overloadedLoops.get() > 0 && isLoopOverloaded(loop));
    }

    private boolean isLoopOverloaded(Executor loop) {
        LoopDelay delay = loops.get(loop);
        return delay != null && delay.isOverloaded();
    }

    /** The pauses of an event loop; {@link LoopPauses#NONE}: the loop is not measured. */
    public LoopPauses pausesOf(Executor loop) {
        LoopDelay delay = loops.get(loop);
        return delay == null ? LoopPauses.NONE : delay;
    }

    /** Whether requests are refused at least on one event loop, for observers; up to one sample old. */
    public boolean isOverloaded() {
        return isMemoryShort || loopDelayNanos > maxLoopDelayNanos();
    }

    /**
     * Takes a sample.
     *
     * @param delayNanos the highest standing delay of an event loop
     * @param percent the share in use of heap or direct memory, the larger one
     */
    public void observe(long delayNanos, int percent) {
        loopDelayNanos = delayNanos;
        memoryPercent = percent;
        isMemoryShort = percent > properties.maxMemory();
    }

    /** The standing delay of the slowest event loop; 0: no loop has one. */
    public long loopDelayNanos() {
        return loopDelayNanos;
    }

    /** The limit on the standing delay of an event loop. */
    long maxLoopDelayNanos() {
        return properties.maxEventLoopDelay().toNanos();
    }

    /** The share in use of heap or direct memory, the larger one, in percent. */
    public int memoryPercent() {
        return memoryPercent;
    }

    /** The limit on exchanges in flight. */
    public int maxInFlight() {
        return properties.maxInFlight();
    }
}
