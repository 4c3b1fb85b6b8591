package io.weir.overload;

/**
 * Whether the gateway has enough of its own: exchanges in flight, event loops' delay, memory. Thread-safe; asked once
 * per request, so the answer is two reads: what takes longer to find out is found out by {@link #observe}.
 */
public final class OverloadGuard {

    private final OverloadProperties properties;
    private volatile boolean strained;
    private volatile long loopDelayNanos;
    private volatile int memoryPercent;

    /** A guard that has seen nothing yet. */
    public OverloadGuard(OverloadProperties properties) {
        this.properties = properties;
    }

    /** Whether a request that makes it so many in flight is one too many. */
    public boolean isOverloaded(int inFlight) {
        return strained || inFlight > properties.maxInFlight();
    }

    /** The sampler's latest figures: the worst event loop's delay, the fuller memory's share in use. */
    public void observe(long delayNanos, int percent) {
        loopDelayNanos = delayNanos;
        memoryPercent = percent;
        strained = delayNanos > properties.maxEventLoopDelay().toNanos() || percent > properties.maxMemory();
    }

    /** The worst event loop's delay. */
    public long loopDelayNanos() {
        return loopDelayNanos;
    }

    /** The fuller memory's share in use; percent. */
    public int memoryPercent() {
        return memoryPercent;
    }

    /** Exchanges that may be in flight. */
    public int maxInFlight() {
        return properties.maxInFlight();
    }
}
