package io.weir.instance;

import org.jspecify.annotations.Nullable;

/**
 * The instances that have failed one exchange, the last one first. Created only for a retry.
 *
 * @param instance the identity of an instance: a reload may put another object in force for it
 * @param earlier those before; null: none
 */
public record TriedInstances(Object instance, @Nullable TriedInstances earlier) {

    /** Whether the instance has failed the exchange. */
    public boolean contains(Object identity) {
        for (TriedInstances one = this; one != null; one = one.earlier) {
            if (one.instance == identity) {
                return true;
            }
        }
        return false;
    }
}
