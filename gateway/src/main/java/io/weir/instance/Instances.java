package io.weir.instance;

import io.weir.health.Health;
import java.util.List;

/**
 * The instances of one backend. Immutable; a reload that changes the addresses creates another object with
 * those instances that stay.
 */
public final class Instances {

    private final List<Instance> all;

    private Instances(List<Instance> all) {
        this.all = all;
    }

    /** The instances of a backend with one address. */
    public static Instances of(Instance only) {
        return new Instances(List.of(only));
    }

    /** All instances; at least one. */
    public List<Instance> all() {
        return all;
    }

    /** The first instance, which is the only one of most backends. */
    public Instance first() {
        return all.getFirst();
    }

    /** The health of the backend. */
    public Health health() {
        return first().health();
    }
}
