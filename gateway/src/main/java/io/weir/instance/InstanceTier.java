package io.weir.instance;

import org.jspecify.annotations.Nullable;

/**
 * The primaries or the backups of a backend that are in, and the choice among them. Immutable.
 *
 * @param choice the choice where the others find no instance
 * @param roundRobin null with another policy
 * @param ring null without a hash key
 */
record InstanceTier(
        Choice<Instance> choice,
        @Nullable RoundRobin<Instance> roundRobin,
        @Nullable HashRing<Instance> ring) {

    /** As {@link Instances#choose}, among the instances of this tier. */
    @Nullable
    Instance choose(long now, @Nullable TriedInstances tried, long hash, int calls) {
        Instance chosen = null;
        if (hash != HashKey.NONE && ring != null) {
            chosen = ring.choose(choice, hash, now, tried, calls);
        } else if (roundRobin != null && tried == null) {
            chosen = roundRobin.choose(now);
        }
        if (chosen != null && !chosen.isLeftAlone(now)) {
            return chosen;
        }
        Instance other = choice.choose(now, tried);
        return chosen == null || (other != null && !other.isLeftAlone(now)) ? other : chosen;
    }

    /** As {@link Instances#hasAnother}, among the instances of this tier. */
    boolean hasAnother(Instance last, @Nullable TriedInstances earlier, long now) {
        for (Instance one : choice.candidates()) {
            if (!one.isSameAs(last)
                    && !one.isLeftAlone(now)
                    && (earlier == null || !earlier.contains(one.identity()))) {
                return true;
            }
        }
        return false;
    }

    /** The time until one of the instances takes retries; {@link Long#MAX_VALUE}: there is none. */
    long pushbackNanos(long now) {
        long least = Long.MAX_VALUE;
        for (Instance one : choice.candidates()) {
            least = Math.min(least, one.health().pushback().leftNanos(now));
        }
        return least;
    }

    /** Whether each instance has failed the exchange, or has no room in its ramp. */
    boolean leavesCall(@Nullable TriedInstances tried) {
        for (Instance one : choice.candidates()) {
            if (!one.health().caps().isRampFull() && (tried == null || !tried.contains(one.identity()))) {
                return false;
            }
        }
        return true;
    }
}
