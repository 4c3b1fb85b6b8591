package io.weir.instance;

/**
 * The present instances of a backend. They change in place, so that a call which waits for its permit goes to
 * an instance that is there when the permit arrives.
 */
// Concurrency: one volatile reference to an immutable set, replaced by one thread at a time. A reader uses
// the object that it has read to the end of its decision.
public final class InstancesInForce {

    private volatile Instances instances;

    /** The first instances of a backend. */
    public InstancesInForce(Instances first) {
        this.instances = first;
    }

    /** The present instances. */
    public Instances get() {
        return instances;
    }

    /** Replaces the instances. Calls that an instance has got stay with it. */
    public void replace(Instances next) {
        // First the health of the backend: the new instances pool their evidence from their first call on.
        next.takeOver();
        instances = next;
    }
}
