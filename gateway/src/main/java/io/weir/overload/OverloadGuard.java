package io.weir.overload;

/**
 * Decides whether the gateway itself is overloaded: by its exchanges in flight, its event loops' delay and
 * its memory.
 *
 * <p>Thread-safe. Every request asks it once, so the decision is two reads; {@link OverloadSampler} takes the
 * samples.
 */
public final class OverloadGuard {

    private final OverloadProperties properties;
    private volatile boolean isOverSampledLimit;
    private volatile long loopDelayNanos;
    private volatile int memoryPercent;

    /** A guard without samples yet: not overloaded. */
    public OverloadGuard(OverloadProperties properties) {
        this.properties = properties;
    }

    /**
     * Whether to refuse a request.
     *
     * @param inFlight the exchanges in flight, including this request
     */
    public boolean isOverloaded(int inFlight) {
        return isOverSampledLimit || inFlight > properties.maxInFlight();
    }

    /**
     * Takes a sample.
     *
     * @param delayNanos the delay of the slowest event loop
     * @param percent the share in use of heap or direct memory, the larger one
     */
    public void observe(long delayNanos, int percent) {
        loopDelayNanos = delayNanos;
        memoryPercent = percent;
        isOverSampledLimit = delayNanos > properties.maxEventLoopDelay().toNanos() || percent > properties.maxMemory();
    }

    /** The delay of the slowest event loop. */
    public long loopDelayNanos() {
        return loopDelayNanos;
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
