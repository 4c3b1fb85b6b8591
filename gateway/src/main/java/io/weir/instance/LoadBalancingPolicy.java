package io.weir.instance;

/** The rule by which a call's instance is chosen. */
public enum LoadBalancingPolicy {
    /** The better of two random instances, by calls in flight and latency. */
    LEAST_LATENCY,
    /** One instance after the other, in proportion to the weights. */
    ROUND_ROBIN,
    /** The instance that a part of the request determines. */
    HASH
}
