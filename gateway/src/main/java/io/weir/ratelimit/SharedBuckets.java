package io.weir.ratelimit;

import java.util.concurrent.CompletionStage;

/** Token buckets that all gateways share. Thread-safe; never blocks. */
public interface SharedBuckets {

    /**
     * The rate of a bucket.
     *
     * @param microsPerPermit the time in which a permit returns
     * @param burst permits of a full bucket
     */
    record Rate(double microsPerPermit, long burst) {}

    /**
     * The answer to a request for a permit.
     *
     * @param isAllowed whether there was a permit
     * @param remaining permits that are left
     * @param nanosToNextPermit the time until another permit is there
     */
    record Taken(boolean isAllowed, long remaining, long nanosToNextPermit) {}

    /**
     * Whether the counter answers, as far as is known. If not, {@link #take} must not be waited for. If a
     * part of it answers, {@code take} fails at once for the keys of the others.
     */
    boolean isAvailable();

    /** How long a request waits for an answer. */
    long timeoutNanos();

    /**
     * Takes a permit if there is one. Completes on any thread, exceptionally if the counter fails; possibly
     * never if it hangs.
     */
    CompletionStage<Taken> take(String key, Rate rate);

    /** A request for a key has waited for {@link #timeoutNanos} in vain. */
    void timedOut(String key);

    /** The gateway has decided about a request by its own count, since the counter did not answer. */
    void decidedLocally();
}
