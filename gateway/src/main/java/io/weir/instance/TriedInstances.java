package io.weir.instance;

import org.jspecify.annotations.Nullable;

/**
 * The instances that have failed one exchange, the last one first. Created only for a retry.
 *
 * @param instance an instance
 * @param earlier those before; null: none
 */
public record TriedInstances(Object instance, @Nullable TriedInstances earlier) {

    /** Whether the instance has failed the exchange. */
    public boolean contains(Object candidate) {
        for (TriedInstances one = this; one != null; one = one.earlier) {
            if (one.instance == candidate) {
                return true;
            }
        }
        return false;
    }
}
