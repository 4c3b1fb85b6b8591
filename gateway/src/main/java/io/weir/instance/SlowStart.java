package io.weir.instance;

/**
 * The slow start of one instance: the factor on its weight after it has become new, or has returned.
 *
 * <p>The factor grows with time, from a tenth to 1, as Envoy's does with an aggression of 1 and a least
 * weight of 10 %; HAProxy's {@code slowstart} grows in the same way. It does not depend on the number of
 * answers: a JVM compiles in the background, and fills its caches from other sources, too.
 */
// Concurrency: `beganAt` is written before `hasBegun`. Two threads that begin at once write moments that
// hardly differ; benign.
final class SlowStart {

    private static final double LEAST = 0.1;

    private volatile long beganAt;
    private volatile boolean hasBegun;

    /** The instance is new, or has returned. */
    void begin(long now) {
        beganAt = now;
        hasBegun = true;
    }

    /** The time until the factor is 1. */
    long leftNanos(long now, long windowNanos) {
        return hasBegun ? Math.max(0, beganAt + windowNanos - now) : 0;
    }

    /** The factor on the weight; 1: the instance has its full share. */
    double factor(long now, long windowNanos) {
        if (!hasBegun) {
            return 1;
        }
        long passed = now - beganAt;
        return passed >= windowNanos ? 1 : Math.max(LEAST, (double) passed / windowNanos);
    }
}
