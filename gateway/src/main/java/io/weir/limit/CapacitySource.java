package io.weir.limit;

/** The limit that the instances of a backend state by themselves. */
@FunctionalInterface
public interface CapacitySource {

    /** No instance states its capacity. */
    int NONE = -1;

    /**
     * The sum of the stated capacities of the instances that take calls, and of the parts of the others in
     * the learnt limit; scaled to all instances.
     *
     * @param learnt the learnt limit if all instances took calls
     * @return 0 or more; {@link #NONE}: no instance states its capacity
     */
    int limit(int learnt, long nowNanos);
}
